"""``python -m geko.runners``: a runner process, see `geko.runners.main`."""

import sys

from geko.frames import without_numpy

if __name__ == "__main__":
    without_numpy()
    # Only now, because pyarrow comes with it.
    from geko.runners.main import main

    sys.exit(main())
