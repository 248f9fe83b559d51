"""`python -m mcptasks.cli`, for where the entry point is not on the path."""

from . import main

main()
