"""The modules of the browser edition, run without a browser by V8, the engine that Chromium has."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from py_mini_racer import JSPromise, MiniRacer

import dptext_core as dpt
from dptext_core.text.languages import ENGLISH
from dptext_core.text.lexicons import stop_words
from dptext_core.text.visible import character_table
from dptext_studio.browser import site
from dptext_studio.browser.detection import stand_in_lists
from dptext_studio.browser.templates import mechanism_data

SITE = Path(site.__file__).with_name("site")
#: The mechanisms that need no model and no large table, and CusText with its default table.
MECHANISMS = ("custext", "diffractor", "redact", "surrogates")

_IMPORT = re.compile(r'^import (\{[^}]*\}|\w+) from "\./(\w+\.js)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
#: What a page has and V8 alone does not, with a generator that has a seed (xoshiro128**) in the place of the browser's.
_PAGE = """
const modules = {};
globalThis.performance = { now: () => Date.now() };
globalThis.setTimeout = (done) => { Promise.resolve().then(done); };
globalThis.TextEncoder = class {
  encode(text) { return Uint8Array.from(unescape(encodeURIComponent(text)), (c) => c.charCodeAt(0)); }
};
const s = new Uint32Array([1, 2, 3, 4]);
const turn = (x, k) => (x << k) | (x >>> (32 - k));
function random() {
  const out = Math.imul(turn(Math.imul(s[1], 5), 7), 9) >>> 0;
  const t = s[1] << 9;
  s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3]; s[2] ^= t; s[3] = turn(s[3], 11);
  return out;
}
for (let i = 0; i < 100; i += 1) random();
"""
_ENGINE = """
modules["sampling.js"].source.fill = (words) => { for (let i = 0; i < words.length; i += 1) words[i] = random(); };
const { Engine } = modules["engine.js"];
let engine;
function begin(core, lists, standIns) {
  engine = new Engine(core);
  engine.load = async () => {};
  engine.standIns = new (modules["flags.js"].StandIns)(core.language, standIns);
  const add = (name, words, maker) => {
    const all = [...words.keys()];
    const places = new Map(words.map((w, i) => [w, i]));
    engine.tables.set(name, { words, places, distribution: maker.of(all), distance: maker.apart(all), maker });
  };
  add("diffractor", lists.list, modules["tables.js"].diffractor(lists.list));
  const bytes = Uint8Array.from(lists.custext, (c) => c.charCodeAt(0));
  add("custext-20", lists.words, modules["tables.js"].custext(lists.words, bytes.buffer));
}
const listed = (words) => words && modules["blocklist.js"].parseBlocklist(words.join(" "), engine.language);
const prepare = (text, { mechanism, options, never, allow, standIns }) =>
  engine.prepare(text, mechanism, { options, blocklist: listed(never), allowlist: listed(allow), standIns });
"""

#: V8 waits for promises on this thread: that of a test may have a browser's loop, which would wait for V8.
_APART = ThreadPoolExecutor(1)


@cache
def engine() -> MiniRacer:
    """Return V8 with every module that ``engine.js`` and ``view.js`` import, by its name in ``modules``."""
    racer = MiniRacer()
    racer.eval(_PAGE)
    done: set[str] = set()

    def load(name: str) -> None:
        if name in done:
            return
        done.add(name)
        text = (SITE / name).read_text(encoding="utf-8")
        for _, other in _IMPORT.findall(text):
            load(other)
        code = _IMPORT.sub(lambda m: f'const {m[1].replace(" as ", ": ")} = modules["{m[2]}"];', text)
        exports = ", ".join(_EXPORT.findall(text))
        racer.eval(
            f'modules["{name}"] = (() => {{ {re.sub("^export ", "", code, flags=re.M)}\nreturn {{ {exports} }}; }})();'
        )

    for name in ("engine.js", "view.js", "identifiers.js", "visible.js"):
        load(name)
    racer.eval(_ENGINE)
    language = dpt.get_mechanism("custext").language
    core = {
        "visible": character_table(),
        "language": site.language_data(ENGLISH),
        "stop_words": sorted(stop_words().words),
        "kinds": site.KINDS,
        "mechanisms": [mechanism_data(dpt.get_mechanism(n), site.FROZEN.get(n, ())) for n in MECHANISMS],
    }
    custext: Any = dpt.get_mechanism("custext")
    diffractor: Any = dpt.get_mechanism("diffractor")
    lists = {
        "list": [w.lower() for w in diffractor.vocabulary.lists[0]],
        "words": list(custext.vocabulary.words),
        "custext": site._custext(20).decode("latin-1"),
    }
    stand_ins = stand_in_lists(language).decode()
    racer.eval(f"begin({json.dumps(core)}, {json.dumps(lists)}, {stand_ins})")
    return racer


def ask(function: str, *arguments: Any) -> Any:
    """Return what a JavaScript function makes of arguments of JSON. It may be asynchronous."""
    return _APART.submit(_ask, function, *arguments).result()


def _ask(function: str, *arguments: Any) -> Any:
    given = ", ".join(json.dumps(a) for a in arguments)
    made = engine().eval(f"(async () => JSON.stringify(await ({function})({given})) ?? 'null')()")
    assert isinstance(made, JSPromise)
    return json.loads(str(made.get(timeout=120)))


def rewrite(text: str, mechanism: str, epsilon: float, **how: Any) -> dict[str, Any]:
    """Return a rewrite with fresh randomness, as the page makes it."""
    call = "async (text, how) => engine.rewrite(await engine.redrawn(await prepare(text, how)), how.epsilon)"
    return ask(call, text, {"mechanism": mechanism, "epsilon": epsilon, **how})
