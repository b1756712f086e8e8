"""`python -m ttc`."""

import sys

from ttc.cli import main

if __name__ == "__main__":
    sys.exit(main())
