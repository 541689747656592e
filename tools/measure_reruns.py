"""Measure what Explore's common actions cost the server, in CPU seconds, without a browser.

CPU seconds count all threads, the model's too, and hardly depend on what else the machine does. Run:

    python tools/measure_reruns.py [--markdown] [--root FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
TEXTS = (
    "My old doctor in Lisbon told my sister last winter that she should move to another city next year.",
    "The young lawyer from Oslo wrote a long letter about money to the judge before the trial had ended.",
    "Our new neighbour lost her job at the bank in spring and she now wants to sell the small house.",
    "That young nurse from Leeds wrote to my brother that the new tablets made most of her patients tired.",
    "The tall waiter forgot the nut allergy of my friend and we had to take her to a hospital that night.",
    "His late uncle left the farm to a cousin from Spain who had not been at home for thirty years.",
)


class Visitor:
    """One visitor's page, and what each of its answers cost."""

    def __init__(self, root: Path):
        from streamlit.testing.v1 import AppTest

        self.at = AppTest.from_file(root / "app.py", default_timeout=300)
        self.spent: dict[str, list[float]] = {}

    def settle(self) -> None:
        self.at.run()
        while (job := self.at.session_state["session"].at("rewrite").job) is not None:
            job.wait(300)
            self.at.run()
        assert not self.at.exception, self.at.exception

    def act(self, name: str, act: Callable[[], Any]) -> None:
        act()
        start = time.process_time()
        self.settle()
        self.spent.setdefault(name, []).append(time.process_time() - start)

    def popover(self, key: str, open_: bool) -> None:
        self.at.session_state[key] = open_

    def payload(self) -> dict[str, Any]:
        return json.loads(self.at.get("bidi_component")[0].proto.json)

    def look(self, epsilon: float, token: int) -> Callable[[], None]:
        """What the browser tells once ε was let go, or a word was chosen."""

        def tell() -> None:
            view = {"run": self.payload()["run"], "eps": epsilon, "token": token, "copies": []}
            self.at.session_state["play_strip"] = {"view": view}

        return tell


def visit(root: Path, rounds: int) -> dict[str, list[float]]:
    me = Visitor(root)
    at = me.at
    me.act("the first visit of a server", lambda: None)
    from dptext_core import models

    while not models.engine("bundled").ready:
        time.sleep(0.2)
    me.settle()
    for k in range(-1, rounds):  # one round to load what is loaded once
        now, then = (TEXTS[(2 * k + i) % len(TEXTS)] for i in (0, 1))
        if k == 0:
            me.spent = {name: all_ for name, all_ in me.spent.items() if name.startswith("the first visit")}
        me.act("20 words with DP-MLM", partial(at.text_area(key="play_text").set_value, now))
        me.act("draw again", at.button(key="play_again").click)
        me.act("move ε and let go", me.look(30.0 + k, 1))
        me.act("choose a word", me.look(30.0 + k, 2))
        me.act("open Look further", at.button(key="play_far_button").click)
        for view in ("All ε", "Model scores and clipping", "Candidates", None):
            if any(b.key == "play_more" for b in at.button_group):
                name = f"view: {view}" if view else "close the view"
                me.act(name, partial(at.button_group(key="play_more").set_value, view))
        for panel in ("Attacks", "Ledger", None):
            name = f"panel: {panel}" if panel else "close the panel"
            me.act(name, partial(at.button_group(key="play_further").set_value, panel))
        me.act("shut Look further", at.button(key="play_far_button").click)
        me.act("open Share", partial(me.popover, "share", True))
        me.popover("share", False)
        me.act("change to CusText", partial(at.selectbox(key="play_mechanism").set_value, "custext"))
        me.act("20 words with CusText", partial(at.text_area(key="play_text").set_value, then))
        me.act("change to MVC", partial(at.selectbox(key="play_mechanism").set_value, "mvc"))
        me.act("20 words with MVC", partial(at.text_area(key="play_text").set_value, now))
        me.act("change to DP-MLM", partial(at.selectbox(key="play_mechanism").set_value, "dp-mlm"))
        titles = at.button_group(key="play_example").options
        me.act("an example", partial(at.button_group(key="play_example").set_value, titles[1 + k % 3]))
    return me.spent


def main() -> None:
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--root", type=Path, default=TOP, help="another copy of the app, to compare with")
    ap.add_argument("--rounds", type=int, default=3, help="how often each action is done; the table has medians")
    ap.add_argument("--markdown", action="store_true")
    a = ap.parse_args()
    root = a.root.resolve()
    os.chdir(root)
    sys.path.insert(0, str(root))
    for name, spent in visit(root, a.rounds).items():
        took = f"{statistics.median(spent):.3f}"
        print(f"| {name} | {took} |" if a.markdown else f"{name:<32}{took:>10}", flush=True)
    os._exit(0)  # libraries that still load in the background do not take an exit well


if __name__ == "__main__":
    main()
