"""The token view's own JavaScript, run without a browser by V8, the engine that Chromium has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from py_mini_racer import MiniRacer

UI = Path(__file__).resolve().parent.parent / "dptext_studio" / "figures" / "browser"

# What the strip does with a payload, without the page around it.
_ASK = """
const ready = (data) => data.tokens.map((raw, i) => prepare(raw, data, i));

function texts(data, epsilons) {
  const tokens = ready(data);
  return epsilons.map((eps) => {
    for (const t of tokens) if (t.drawn) t.at = winner(t, eps);
    return spliced(tokens) + data.tail;
  });
}

function chances(data, epsilons) {
  const tokens = ready(data);
  return epsilons.map((eps) =>
    tokens.map((t) => (t.drawn ? t.c.map((_, k) => chance(t, k, eps, onAxis(eps, data.lo, data.hi))) : null)),
  );
}

function standing(data, epsilons) {
  const tokens = ready(data);
  return epsilons.map((eps) => {
    for (const t of tokens) if (t.drawn) t.at = winner(t, eps);
    const left = data.telling.filter((f) => f.at.some((i, n) => stands(tokens[i], data.aligned, f.among?.[n])));
    return { texts: left.map((f) => f.text), said: tally(left) };
  });
}

const rough_at = (data, eps) => ready(data).filter((t) => t.drawn).map((t) => rough(t, eps));
const tourSteps = () => TOUR_STEPS;
const capitals = (words) => words.map(capital);
const changed = (data, epsilons) => {
  const tokens = ready(data);
  return epsilons.map((eps) => tokens.filter((t) => t.drawn && t.counts && !t.kept[winner(t, eps)]).length);
};
"""


@cache
def _engine() -> MiniRacer:
    engine = MiniRacer()
    files = ("token_math.js", "belief_panel.js", "tour_steps.js", "strip_attack.js")
    engine.eval("\n".join((UI / name).read_text(encoding="utf-8") for name in files) + _ASK)
    return engine


def call(function: str, *arguments: Any) -> Any:
    """What a function of the script says of plain values; NaN comes back as None."""
    message = ", ".join(json.dumps(a, allow_nan=False) for a in arguments)
    return json.loads(_engine().eval(f"JSON.stringify({function}({message}))"))


def texts(payload: Any, epsilons: Sequence[float]) -> list[str]:
    """The text that the strip shows at each ε."""
    return call("texts", payload, [float(e) for e in epsilons])


def chances(payload: Any, epsilons: Sequence[float]) -> list[list[list[float | None] | None]]:
    """At each ε, for each token, the chance of each candidate as the strip works it out; None: not known."""
    return call("chances", payload, [float(e) for e in epsilons])
