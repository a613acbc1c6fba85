#!/usr/bin/env python3
"""Tuning of the configs of a working directory; the same as ``geko optimize --workdir W``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geko.cli.scripts import optimize

if __name__ == "__main__":
    sys.exit(optimize(anchor=__file__))
