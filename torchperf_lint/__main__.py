"""`python -m torchperf_lint`."""

from __future__ import annotations

import sys

from torchperf_lint.adapters.cli import main

if __name__ == "__main__":
    sys.exit(main())
