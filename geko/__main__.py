"""``python -m geko``: the command line."""

from geko.cli import main

raise SystemExit(main())
