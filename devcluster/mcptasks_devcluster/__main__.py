"""``python -m mcptasks_devcluster``."""

import sys

from mcptasks_devcluster.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
