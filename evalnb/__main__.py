"""``python -m evalnb`` is the command line."""

from evalnb.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
