"""For authors of mechanisms: what every mechanism keeps, as checks, and a package to begin with."""

from .conformance import CHECKS, check_mechanism
from .scaffold import new_mechanism

__all__ = ["CHECKS", "check_mechanism", "new_mechanism"]
