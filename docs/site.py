"""Hooks of mkdocs: files outside of docs that documents link to are pages of the site too, and so are notebooks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
FENCES = re.compile(r"(```.*?```)", re.DOTALL)


def notebook(path: Path) -> str:
    """A notebook as Markdown: its cells, and the text that they printed."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        printed = "".join("".join(out.get("text", ())) for out in cell.get("outputs", ()))
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def text(path: Path) -> str:
    return notebook(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")


def address(path: Path) -> str:
    """Where a file of the repository stands in the site."""
    inside = path.relative_to(DOCS) if path.is_relative_to(DOCS) else Path("repository") / path.relative_to(ROOT)
    return (inside.with_suffix(".md") if inside.suffix == ".ipynb" else inside).as_posix()


def linked(path: Path) -> dict[str, Path]:
    """The files of the repository that a document links to, by the link."""
    links = (m[1] for part in FENCES.split(text(path))[::2] for m in LINK.finditer(part))
    found = {link: (path.parent / link).resolve() for link in links if "://" not in link}
    return {link: target for link, target in found.items() if target.is_file() and target.is_relative_to(ROOT)}


def on_files(files: Any, config: Any) -> Any:
    """Adds what is linked to and lies elsewhere, and what that links to in its turn."""
    for file in [f for f in files if f.src_uri.endswith(".ipynb")]:
        files.remove(file)
    there = {f.src_uri for f in files}
    ahead = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    seen: set[Path] = set()
    while ahead:
        path = ahead.pop()
        if path in seen:
            continue
        seen.add(path)
        if (where := address(path)) not in there:
            if path.suffix in (".md", ".ipynb"):
                files.append(File.generated(config, where, content=text(path)))
            else:
                files.append(File.generated(config, where, abs_src_path=str(path)))
        if path.suffix in (".md", ".ipynb"):
            config.extra.setdefault("sources", {})[where] = path
            ahead += linked(path).values()
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links lead to where the files stand in the site."""
    path = config.extra["sources"].get(page.file.src_uri)
    if path is None:
        return markdown
    targets = linked(path)

    def there(match: re.Match[str]) -> str:
        if match[1] not in targets:
            return match[0]
        return f"]({os.path.relpath(address(targets[match[1]]), Path(page.file.src_uri).parent)}{match[2] or ''})"

    return "".join(p if i % 2 else LINK.sub(there, p) for i, p in enumerate(FENCES.split(markdown)))
