"""The build's one step of its own: the assets and the app travel inside the installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
#: Pictures of documents, which only the repository needs.
LEFT_OUT = shutil.ignore_patterns("*.png", "*.gif")
#: Of whoever builds: what Python leaves, and secrets of their Streamlit.
OWN = shutil.ignore_patterns("__pycache__", "secrets*")


class BuildWithAssets(build_py):
    """Puts ``assets`` and the app into the package ``dptext_core``, where it looks for them first."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # then the package is the folder beside them
            return
        if not (ROOT / "assets" / "MANIFEST.json").is_file():
            raise SystemExit("The folder 'assets' is missing: build from a complete copy of the repository.")
        package = Path(self.build_lib) / "dptext_core"
        for folder in ("assets", "app"):  # what an earlier build left there
            shutil.rmtree(package / folder, ignore_errors=True)
        shutil.copytree(ROOT / "assets", package / "assets", ignore=LEFT_OUT)
        (package / "app").mkdir()
        shutil.copy(ROOT / "app.py", package / "app")
        for folder in ("pages", ".streamlit"):
            shutil.copytree(ROOT / folder, package / "app" / folder, ignore=OWN)


setup(cmdclass={"build_py": BuildWithAssets})
