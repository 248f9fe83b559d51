"""The command line `mcptasks`. Importing it loads nothing; `main` loads what the command at hand needs."""


def main() -> None:
    """Run the command line and exit with its code (see `mcptasks.cli.exits`)."""
    from .app import run  # noqa: PLC0415  # `import mcptasks.cli` stays free of what only a run needs

    run()
