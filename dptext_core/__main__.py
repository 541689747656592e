"""``python -m dptext_core``."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        from .cli import main
    except KeyboardInterrupt:  # the commands take a moment to load
        sys.exit(130)
    sys.exit(main())
