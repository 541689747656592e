"""What the build does by itself: the assets and the app travel inside the installed package, and a package index is
told where the repository is, if ``PROJECT_URL`` names it."""

from __future__ import annotations

import os
import re
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
    """Put ``assets`` into ``dptext_core`` and the app into ``dptext_studio``, which look for them there first."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:  # then the package is the folder beside them
            return
        if not (ROOT / "assets" / "MANIFEST.json").is_file():
            raise SystemExit("The folder 'assets' is missing: build from a complete copy of the repository.")
        assets = Path(self.build_lib) / "dptext_core" / "assets"
        app = Path(self.build_lib) / "dptext_studio" / "app"
        for folder in (assets, app):  # what an earlier build left there
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "assets", assets, ignore=LEFT_OUT)
        app.mkdir()
        shutil.copy(ROOT / "app.py", app)
        for folder in ("pages", ".streamlit"):
            shutil.copytree(ROOT / folder, app / folder, ignore=OWN)


def for_an_index(readme: str, url: str, version: str) -> str:
    """The README where no file lies beside it: links and pictures lead to the repository, at the tag of the version."""

    def there(link: re.Match[str]) -> str:
        kind = "raw" if link[1] else "blob"
        return f"{link[1]}[{link[2]}]({url}/{kind}/v{version}/{link[3]})"

    if not url:
        return readme
    parts = re.split(r"(```.*?```)", readme, flags=re.DOTALL)
    return "".join(
        part if k % 2 else re.sub(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)", there, part)
        for k, part in enumerate(parts)
    )


def urls(url: str) -> dict[str, str]:
    """What a package index shows beside the description."""
    if not url:
        return {}
    return {
        "Source": url,
        "Documentation": f"{url}/blob/main/docs/index.md",
        "Changelog": f"{url}/blob/main/CHANGELOG.md",
        "Issues": f"{url}/issues",
        "Security": f"{url}/blob/main/SECURITY.md",
    }


def version() -> str:
    (found,) = re.findall(r'(?m)^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":  # as every builder runs it
    REPOSITORY = os.environ.get("PROJECT_URL", "").rstrip("/")
    setup(
        cmdclass={"build_py": BuildWithAssets},
        long_description=for_an_index((ROOT / "README.md").read_text(encoding="utf-8"), REPOSITORY, version()),
        long_description_content_type="text/markdown",
        project_urls=urls(REPOSITORY),
    )
