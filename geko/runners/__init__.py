"""Runners: how a job of the queue is run on a device."""
