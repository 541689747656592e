"""Optional extras of the package, and the command that installs one: the same words wherever one is missing."""

from __future__ import annotations

#: Extra → the file of the repository that pins the same.
EXTRAS = {
    "app": "requirements.txt",
    "dev": "requirements-dev.txt",
    "llm": "requirements-llm.txt",
    "models": "requirements.txt",
    "names": "requirements-names.txt",
    "office": "requirements-office.txt",
    "ray": "requirements-ray.txt",
}


def install(extra: str) -> str:
    """The command, for who installed the package and for who has a clone."""
    return f"pip install 'dptext-studio[{extra}]' (in a clone: pip install -r {EXTRAS[extra]})"
