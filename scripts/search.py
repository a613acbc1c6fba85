#!/usr/bin/env python3
"""Dense search over existing solutions with the script's own defaults; the same as ``geko search --workload-log LOG``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from geko.cli.scripts import search

if __name__ == "__main__":
    sys.exit(search(anchor=__file__))
