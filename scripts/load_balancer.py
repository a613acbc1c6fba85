#!/usr/bin/env python3
"""One shell script a GPU, each with its share of a tuning folder's configs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geko.cli.tuning_scripts import load_balancer

if __name__ == "__main__":
    sys.exit(load_balancer())
