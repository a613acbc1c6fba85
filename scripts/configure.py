#!/usr/bin/env python3
"""Tuning configs for a workload log; the same as ``geko configure --workload-log LOG --arch ARCH``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geko.cli.scripts import configure

if __name__ == "__main__":
    sys.exit(configure(anchor=__file__))
