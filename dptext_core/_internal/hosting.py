"""Whether this program serves strangers: the environment variable DPTEXT_PUBLIC, which whoever starts it sets.

Then no plugin is loaded, and the pages take less: ``pages/ui/public.py`` has the limits.
"""

from __future__ import annotations

import os

VARIABLE = "DPTEXT_PUBLIC"


def public() -> bool:
    """Whether it is on: for any value but an empty one, 0, no, off and false."""
    return os.environ.get(VARIABLE, "").strip().lower() not in ("", "0", "no", "off", "false")
