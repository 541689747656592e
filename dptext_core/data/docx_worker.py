"""Read the paragraphs of a DOCX file with lxml, in a separate process with bounded memory.

    python -P docx_worker.py FILE LIMITS

LIMITS is ``documents.Limits`` as JSON. A line of JSON goes to standard output for each paragraph with text, ["row",
number, text], and for what was left out, [kind, count, of]. Exit status: 3 locked, 4 too many paragraphs, 5 too much
text, 6 broken, 7 unpacks to too much, 8 out of memory.

Reads the main text as if all tracked changes were accepted, including tables, text boxes, content controls, equations
and symbols. The tree is pruned behind each paragraph, so that it is never complete in memory.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import posixpath
import sys
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

LOCKED, ROWS, TEXT, BROKEN, UNPACKED, MEMORY = 3, 4, 5, 6, 7, 8
#: Maximum parts of an archive; bytes of a list of relationships; bytes of one paragraph with all its contents.
PARTS, RELATIONS, PARAGRAPH = 20_000, 1 << 20, 4 << 20
#: Maximum count of paragraphs in an omitted part.
COUNTED = 10_000
#: Maximum ratio of the unpacked size, from these bytes on: word processors reach a tenth of it.
RATIO, SMALL = 100, 8 << 20
_CHUNK = 1 << 16

_WORD = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
)
_MATH = ("http://schemas.openxmlformats.org/officeDocument/2006/math", "http://purl.oclc.org/ooxml/officeDocument/math")
_CHOICES = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_TAGS = [f"{{{space}}}{name}" for space in _WORD for name in ("p", "trPr", "tcPr")]
_ROOTS = [
    f"{{{space}}}{name}" for space in _WORD for name in ("document", "hdr", "ftr", "footnotes", "endnotes", "comments")
]
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"

#: Elements of a run that are text, with their characters.
_FIXED = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "\u2011"}
#: Elements whose content is not text of their paragraph.
_APART = {"moveFrom", "delText", "instrText", "delInstrText", "txbxContent", "rPr", "pPr", "sdtPr", "fldData"}
#: By the last part of a relationship's type, the kind of note.
_PARTS_LEFT = {
    "header": "headers",
    "footer": "headers",
    "footnotes": "footnotes",
    "endnotes": "footnotes",
    "comments": "comments",
}
_OBJECTS_LEFT = {
    "image": "pictures",
    "chart": "objects",
    "chartEx": "objects",
    "diagramData": "objects",
    "package": "objects",
    "oleObject": "objects",
    "aFChunk": "objects",
}
#: The characters of the font Symbol at 0x20 to 0x7E and 0xA0 to 0xFE.
_SYMBOLS = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑(|([|[{{{|€⟩∫⌠⎮⌡)|)]|]}}}",
)
#: The characters of Wingdings that represent words and marks.
_WINGDINGS = {
    0x28: "☎",
    0x2A: "✉",
    0x4A: "☺",
    0x4C: "☹",
    0x6C: "●",
    0x6E: "■",
    0x6F: "□",
    0x71: "❑",
    0x76: "❖",
    0x9F: "•",
    0xA7: "▪",
    0xA8: "☐",
    0xD8: "➢",
    0xDF: "←",
    0xE0: "→",
    0xE8: "→",
    0xF0: "⇒",
    0xFB: "✗",
    0xFC: "✓",
    0xFD: "☒",
    0xFE: "☑",
}
_UNKNOWN = "□"


class RefusedFile(Exception):
    """The file is refused. The argument is the exit status."""


def main(path: str, limits: dict[str, Any]) -> int:
    """Write the paragraphs, and return the exit status."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows; a lower limit may already apply
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
        seconds = int(limits["seconds"])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    try:
        for line in read(path, limits):
            print(json.dumps(line))
    except RefusedFile as refused:
        return int(refused.args[0])
    except MemoryError:
        return MEMORY
    except RuntimeError as error:  # zipfile's error for a missing password
        return BROKEN if isinstance(error, RecursionError | NotImplementedError) else LOCKED
    except Exception as error:  # any error of the readers for a broken file
        return MEMORY if "allocation" in str(error) else BROKEN
    return 0


def read(path: str, limits: dict[str, Any]) -> Iterator[tuple[str, int, Any]]:
    """Yield the paragraphs of the main text, and what was omitted. Raises RefusedFile and library errors."""
    with open(path, "rb") as file:
        if file.read(8) == bytes.fromhex("d0cf11e0a1b11ae1"):  # the format of a file with a password, and of a .doc
            raise RefusedFile(LOCKED)
        size = file.seek(0, 2)
    limits = {**limits, "unpacked": min(limits["unpacked"], max(SMALL, RATIO * size))}
    with zipfile.ZipFile(path) as archive:
        package = Package(archive, limits)
        main_part = package.main()
        for number, text in enumerate(package.paragraphs(main_part), 1):
            yield "row", number, text
        omitted = package.left
        for kind, target in package.related(main_part):
            if kind in _PARTS_LEFT:
                omitted[_PARTS_LEFT[kind]] += package.count(target)
            elif kind in _OBJECTS_LEFT:
                omitted[_OBJECTS_LEFT[kind]] += 1
    for what, n in omitted.items():
        if n:
            yield what, n, 0


class Package:
    """The parts of a DOCX file, with limits on reading all of them together."""

    def __init__(self, archive: zipfile.ZipFile, limits: dict[str, Any]):
        self.archive = archive
        self.left: Counter[str] = Counter()
        self._unpacked, self._characters, self._rows = limits["unpacked"], limits["characters"], limits["rows"]
        names = archive.namelist()
        if len(names) > PARTS:
            raise RefusedFile(BROKEN)
        self._names = {name.lower(): name for name in names}

    def main(self) -> str:
        """Return the name of the part with the main text, which differs between word processors."""
        for kind, target in self.related(""):
            if kind == "officeDocument":
                return target
        return self._named("word/document.xml")

    def related(self, part: str) -> list[tuple[str, str]]:
        """Return the kinds and names of the parts that a part refers to."""
        folder, name = posixpath.split(part)
        place = self._names.get(posixpath.join(folder, "_rels", f"{name}.rels").lower())
        if place is None:
            return []
        data = b"".join(self._data(place, RELATIONS))
        etree = importlib.import_module("lxml.etree")
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
        parts = []
        for each in root.iter(_RELATIONSHIP):
            kind = each.get("Type", "").rpartition("/")[2]
            if each.get("TargetMode") == "External" and kind not in _OBJECTS_LEFT:
                continue
            target = each.get("Target", "")
            absolute = target[1:] if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            parts.append((kind, self._names.get(absolute.lower(), absolute)))
        return parts

    def count(self, part: str) -> int:
        """Return how many paragraphs of an omitted part have text, as far as it can be read."""
        count = 0
        try:
            for _ in self.paragraphs(part):
                count += 1
                if count == COUNTED:
                    break
        except Exception:  # the main text is whole
            return max(count, 1)
        return count

    def paragraphs(self, part: str) -> Iterator[str]:
        """Yield the texts of the paragraphs that are not blank."""
        for text in Paragraphs(self.left).of(self._data(self._named(part), self._unpacked)):
            self._rows -= 1
            if self._rows < 0:
                raise RefusedFile(ROWS)
            self._characters -= len(text)
            if self._characters < 0:
                raise RefusedFile(TEXT)
            if text := text.strip():
                yield text

    def _named(self, part: str) -> str:
        if part.lower() not in self._names:
            raise RefusedFile(BROKEN)
        return self._names[part.lower()]

    def _data(self, name: str, most: int) -> Iterator[bytes]:
        about = self.archive.getinfo(name)
        # With any other compression, the whole unpacked chunk would be in memory at once.
        if about.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RefusedFile(BROKEN)
        with self.archive.open(about) as part:
            for data in iter(lambda: part.read(_CHUNK), b""):
                self._unpacked -= len(data)
                most -= len(data)
                if min(most, self._unpacked) < 0:
                    raise RefusedFile(UNPACKED)
                yield data


class Paragraphs:
    """Extract paragraphs from a growing tree. left: counts the deletions and the unknown symbols."""

    def __init__(self, omitted: Counter[str]):
        self._omissions = omitted
        self._open_parts: list[str] = []  # of paragraphs whose ends were deleted: the next one continues them
        self._num_open_characters = 0  # the number of their characters

    def of(self, chunks: Iterator[bytes]) -> Iterator[str]:
        """Yield the text of each paragraph, blank ones too. Raises RefusedFile, lxml's errors."""
        etree = importlib.import_module("lxml.etree")
        parser = etree.XMLPullParser(
            events=("start", "end"),
            tag=[*_TAGS, *_ROOTS],
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )
        root = paragraph = None
        size = 0
        for data in chunks:
            parser.feed(data)
            size += len(data)
            for event, element in parser.read_events():
                if root is None:
                    root = element
                    # Entities that expand endlessly are declared there.
                    if root.getroottree().docinfo.internalDTD is not None or element.tag not in _ROOTS:
                        raise RefusedFile(BROKEN)
                name = element.tag.rpartition("}")[2]
                if event == "start":
                    if name == "p" and paragraph is None:
                        paragraph, size = element, len(data)
                elif name in ("trPr", "tcPr"):
                    self._delete(element, element)
                elif name == "p":
                    if not is_left_out(element):
                        yield from self._taken(element)
                    if element is paragraph:
                        paragraph = None
            if root is None:
                if size > PARAGRAPH:
                    raise RefusedFile(BROKEN)
                continue
            if paragraph is not None and size > PARAGRAPH:
                raise RefusedFile(MEMORY)
            self._prune(root, paragraph)
        parser.close()
        if root is None:
            raise RefusedFile(BROKEN)
        if self._open_parts:
            yield "".join(self._open_parts)

    def _delete(self, properties: Any, children: Iterable[Any]) -> None:
        """Mark a row or a cell of a table if one of these properties states a tracked deletion."""
        deleted = any(local(child) in ("del", "cellDel") for child in children)
        if deleted and (parent := properties.getparent()) is not None:
            parent.set("deleted", "1")
            self._omissions["deletions"] += 1

    def _prune(self, root: Any, paragraph: Any) -> None:
        """Delete what was read, down to the paragraph that is still open, and mark its consequences."""
        element = root
        while len(element) and element is not paragraph:
            if len(read := element[:-1]):
                if local(element) in ("trPr", "tcPr"):
                    self._delete(element, read)
                elif local(element) == "AlternateContent" and any(local(child) == "Choice" for child in read):
                    element.set("chosen", "1")  # the others repeat the same
                del element[:-1]
            element = element[0]

    def _taken(self, paragraph: Any) -> Iterator[str]:
        parts: list[str] = []
        self._add(paragraph, parts)
        self._open_parts += parts
        if len(paragraph) and local(paragraph[0]) == "pPr" and is_joined(paragraph[0]):
            self._num_open_characters += sum(map(len, parts))
            if self._num_open_characters > PARAGRAPH:
                raise RefusedFile(MEMORY)
        else:
            text = "".join(self._open_parts)
            self._open_parts, self._num_open_characters = [], 0
            yield text

    def _add(self, element: Any, parts: list[str], font: str = "") -> None:
        """Add the text of an element's children, except those of text boxes."""
        for child in element:
            if not isinstance(child.tag, str):
                continue
            space, _, name = child.tag[1:].partition("}")
            if space in _MATH and name == "oMath":
                parts.append(equation(child))
            elif space == _CHOICES and name == "AlternateContent":
                chosen = next((c for c in child if local(c) == "Choice"), None)
                chosen = chosen if chosen is not None else next(iter(child), None)
                if chosen is not None:
                    self._add(chosen, parts)
            elif space not in _WORD:
                self._add(child, parts, font)
            elif name == "t":
                parts.append(self._mapped(child.text or "", font))
            elif name in _FIXED:
                parts.append(_FIXED[name])
            elif name == "sym":
                parts.append(self._symbol(attribute(child, "char"), attribute(child, "font")))
            elif name == "del":
                self._omissions["deletions"] += any(e.text and e.text.strip() for e in child.iter(*_DELETED))
            elif name == "rt":  # the pronunciation of a word, above it
                above: list[str] = []
                self._add(child, above)
                parts.append(f"({''.join(above)})")
            elif name not in _APART:
                self._add(child, parts, font_of(child) if name == "r" else font)

    def _symbol(self, code: str, font: str) -> str:
        try:
            number = int(code, 16)
        except ValueError:
            return _UNKNOWN
        if not 0xF000 <= number <= 0xF0FF:
            return chr(number) if 0x20 <= number < 0xD800 else _UNKNOWN
        if not (character := in_font(number - 0xF000, font)):
            self._omissions["symbols"] += 1
        return character or _UNKNOWN

    def _mapped(self, text: str, font: str) -> str:
        """Return a text whose symbols may be in the private area of a symbol font."""
        if font.lower() not in ("symbol", "wingdings") or not any("\uf000" <= c <= "\uf0ff" for c in text):
            return text
        return "".join(self._symbol(f"{ord(c):x}", font) if "\uf000" <= c <= "\uf0ff" else c for c in text)


_DELETED = tuple(f"{{{space}}}{name}" for space in _WORD for name in ("delText", "t"))


def in_font(code: int, font: str) -> str:
    """Return the character that a symbol font shows for a code; "" if it has none."""
    if font.lower() == "symbol":
        low, high = _SYMBOLS
        if 0x20 <= code <= 0x7E:
            return low[code - 0x20]
        return high[code - 0xA0] if 0xA0 <= code <= 0xFE else ""
    return _WINGDINGS.get(code, "") if font.lower() == "wingdings" else ""


def font_of(run: Any) -> str:
    """Return the font of a run, if it names one."""
    fonts = run.find("{*}rPr/{*}rFonts")
    return "" if fonts is None else attribute(fonts, "ascii") or attribute(fonts, "hAnsi")


def local(element: Any) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str:
    """Return an attribute in any namespace."""
    return next((str(v) for k, v in element.attrib.items() if k.rpartition("}")[2] == name), "")


def is_left_out(paragraph: Any) -> bool:
    """Return True if a paragraph is inside something deleted, moved away, or repeated."""
    for above in paragraph.iterancestors():
        name = local(above)
        if name in ("moveFrom", "del") or above.get("deleted"):
            return True
        if name in ("Choice", "Fallback") and (several := above.getparent()) is not None:
            chosen = next((c for c in several if local(c) == "Choice"), above)
            if chosen is not above or several.get("chosen"):
                return True
    return False


def is_joined(properties: Any) -> bool:
    """Return True if the end of a paragraph was deleted or moved away."""
    return any(local(mark) in ("del", "moveFrom") for mark in properties.iterfind("{*}rPr/*"))


def equation(element: Any) -> str:
    """Return an equation in linear form, as people type it: (a+b)/2, x^2, √(x), ∑_(i=1)^n."""
    name = local(element)
    if name == "t":
        return element.text or ""
    parts = dict(parts_in_order(element))

    def part(of: str) -> str:
        return equation(parts[of]) if of in parts else ""

    match name:
        case "f":
            return f"{bracket(part('num'))}/{bracket(part('den'))}"
        case "sSup":
            return f"{part('e')}^{bracket(part('sup'))}"
        case "sSub":
            return f"{part('e')}_{bracket(part('sub'))}"
        case "sSubSup":
            return f"{part('e')}_{bracket(part('sub'))}^{bracket(part('sup'))}"
        case "rad":
            return f"{part('deg')}√({part('e')})"
        case "nary":
            sign = value_of(parts.get("naryPr"), "chr", "∫")
            below, above = part("sub"), part("sup")
            ends = (f"_{bracket(below)}" if below else "") + (f"^{bracket(above)}" if above else "")
            return f"{sign}{ends} {part('e')}"
        case "d":
            about = parts.get("dPr")
            inner = value_of(about, "sepChr", "|").join(equation(e) for e in element if local(e) == "e")
            return f"{value_of(about, 'begChr', '(')}{inner}{value_of(about, 'endChr', ')')}"
        case "acc":
            return part("e") + value_of(parts.get("accPr"), "chr", "\u0302")
        case "m":
            rows = ([equation(e) for e in row if local(e) == "e"] for row in element if local(row) == "mr")
            return f"[{'; '.join(', '.join(row) for row in rows)}]"
        case "eqArr":
            return "; ".join(equation(e) for e in element if local(e) == "e")
    return "".join(equation(child) for name, child in parts_in_order(element) if not name.endswith("Pr"))


def parts_in_order(element: Any) -> list[tuple[str, Any]]:
    """Return the children of an element with their names."""
    return [(local(child), child) for child in element if isinstance(child.tag, str)]


def bracket(text: str) -> str:
    """Return a part of an equation in brackets, unless it is a number or a name."""
    return text if text.replace(".", "").isalnum() else f"({text})"


def value_of(properties: Any, name: str, usual: str) -> str:
    """Return a value from an equation's properties, or the default."""
    element = properties.find(f"{{*}}{name}") if properties is not None else None
    return usual if element is None else attribute(element, "val")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
