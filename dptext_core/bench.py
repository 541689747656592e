"""Older names: ``python -m dptext_core.bench.speed`` is ``python -m dptext_core bench speed``."""

from pathlib import Path

#: Where a module of these names is looked for; new code names the package that it is in.
__path__ = [str(Path(__file__).parent / name) for name in ("evaluation", "performance")]
