"""``python -m allworlds`` is the command ``allworlds``."""

from allworlds.cli import main

if __name__ == "__main__":
    main()
