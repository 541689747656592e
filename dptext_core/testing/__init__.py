"""For authors of mechanisms: the checks that every mechanism must pass, and a package template."""

from .conformance import CHECKS, check_mechanism
from .scaffold import new_mechanism

__all__ = ["CHECKS", "check_mechanism", "new_mechanism"]
