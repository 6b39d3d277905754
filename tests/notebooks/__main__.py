"""`python -m tests.notebooks --write`: run the notebooks and write what came out."""

import argparse

from tests.notebooks import NOTEBOOKS, run, write

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks", description=__doc__)
    parser.add_argument("--write", action="store_true", required=True, help="replace the outputs")
    parser.add_argument("names", nargs="*", help="only these, such as quickstart")
    names = parser.parse_args().names
    for path in NOTEBOOKS:
        if not names or path.stem in names:
            write(path, run(path))
