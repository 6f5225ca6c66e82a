"""``python -m fsframe``."""

from fsframe.cli import main

if __name__ == "__main__":
    main()
