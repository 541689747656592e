"""The build's one step of its own: the assets that the core needs travel inside the installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
#: Folders of ``assets`` that only the repository and the app need.
LEFT_OUT = {"pictures"}


class BuildWithAssets(build_py):
    """Puts ``assets`` into the package ``dptext_core``, where ``dptext_core._internal.assets`` looks first."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # then the package is the folder beside them
            return
        if not (ROOT / "assets" / "MANIFEST.json").is_file():
            raise SystemExit("The folder 'assets' is missing: build from a complete copy of the repository.")
        target = Path(self.build_lib) / "dptext_core" / "assets"
        shutil.rmtree(target, ignore_errors=True)  # what an earlier build left there
        shutil.copytree(ROOT / "assets", target, ignore=self._left_out)

    @staticmethod
    def _left_out(folder: str, names: list[str]) -> set[str]:
        return LEFT_OUT & set(names) if Path(folder) == ROOT / "assets" else set()


setup(cmdclass={"build_py": BuildWithAssets})
