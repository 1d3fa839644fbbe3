"""python -m finegold"""

from finegold.cli import main

if __name__ == "__main__":
    main()
