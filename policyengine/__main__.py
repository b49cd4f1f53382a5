"""`python -m policyengine`: the command line."""

import sys

from policyengine.cli import main

if __name__ == "__main__":
    sys.exit(main())
