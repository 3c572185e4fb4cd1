"""``python -m groundtruth``."""

from . import main

if __name__ == "__main__":
    main()
