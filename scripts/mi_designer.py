#!/usr/bin/env python3
"""Macro tiles of every size of a generator YAML, as log files; for one size see ``geko mi``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geko.cli.tuning_scripts import mi_designer

if __name__ == "__main__":
    sys.exit(mi_designer())
