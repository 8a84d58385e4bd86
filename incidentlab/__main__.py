"""`python -m incidentlab` is the same as `incidentlab`."""

import sys

from incidentlab.cli import main

sys.exit(main())
