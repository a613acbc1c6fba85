"""The stages of a run: where its problems come from, what it stands on, its jobs, its end."""
