"""``python -m groundtruth``."""

from groundtruth import main

if __name__ == "__main__":
    main()
