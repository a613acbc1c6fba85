#!/usr/bin/env python3
"""Tuning configs of a generator YAML or a workload log, straight into a folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geko.cli.tuning_scripts import config_generator

if __name__ == "__main__":
    sys.exit(config_generator(anchor=__file__))
