"""Test that unseeded noise comes from the operating system, with rewrites in two fresh processes.

``Mechanism.rewrite`` and related methods create a fresh key. If an author overrides one of them, the key may count
calls, or follow from the process id and the time. Then two processes can have the same noise. Both processes here have
the same id and time, so only the operating system's randomness distinguishes them. The name of the noise has 64 bits:
two correct processes have the same one with probability below 10^−17.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from dataclasses import fields
from typing import Any

from ..mechanisms.base import Mechanism
from .checks import Subject
from .entry_points import is_importable
from .report import Check, Witness
from .rules import flat

NAME = "second process"
#: The functions that create a key if none is given.
KEYED = ("rewrite", "rewrites", "rewrite_each", "sweep")
#: Time limit in seconds for a process to load a mechanism and rewrite a text.
LONGEST = 300
_CHILD = """
import json, os, sys, time
os.getpid = lambda: 4242
time.time, time.time_ns = (lambda: 1.7e9), (lambda: 1_700_000_000_000_000_000)
asked = json.loads(sys.stdin.read())
sys.path[:] = asked["path"]
import importlib, importlib.util
try:
    module = importlib.import_module(asked["module"])
except ImportError:
    spec = importlib.util.spec_from_file_location(asked["module"], asked["file"])
    module = sys.modules[asked["module"]] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
found = module
for part in asked["name"].split("."):
    found = getattr(found, part)
m, text = found.create(**asked["options"]), asked["text"]
results = [m.rewrite(text), m.rewrite(text), *m.rewrite([text, text]), *m.rewrites(text, 2)]
results += [*m.rewrite_each([text]), *m.sweep(text, [float(m.config.epsilon)]).results]
print(json.dumps([r.noise_id for r in results]))
"""


def own_keys(m: Mechanism) -> list[str]:
    """Return the functions of an author's class that create a key."""
    return [name for name in KEYED if getattr(type(m), name) is not getattr(Mechanism, name)]


def in_two_processes(subject: Subject) -> Check | None:
    """Test that unseeded rewrites have different noise in two processes; None if the package creates the keys."""
    m = subject.m
    if not (keys := own_keys(m)):
        return None
    if not is_importable(type(m)):
        reason = (
            f"{type(m).__name__} generates its own noise if none is given ({', '.join(keys)}). Another process cannot "
            "import it, so it is unknown whether that noise is fresh. Move it into a module."
        )
        return Check(NAME, "not tested", "", reason)
    text = next((t for t in subject.inputs if isinstance(t, str)), "doctor")
    try:
        first, second = noise_names(m, text)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = f"its rewrites in another process failed ({type(error).__name__}), so its noise cannot be inspected."
        return Check(NAME, "not tested", "", why)
    looked = "Rewrites without a seed in two processes with the same process ID and the same time."
    if set(first) & set(second):
        message = f"“{flat(text)}” has the noise ID {min(set(first) & set(second))} in each of two processes."
        reason = (
            "without given noise, two processes sample the same values: the noise does not come from the "
            "operating system."
        )
        return Check(
            NAME, "refuted", looked, reason, Witness.of_rule(message, text, kind="release"), draws=2 * len(first)
        )
    return Check(NAME, "tested", looked, draws=2 * len(first))


def noise_names(m: Mechanism, text: str) -> tuple[list[str], list[str]]:
    """Return the names of the noise of some unseeded rewrites, for each of two processes."""
    cls, setting = type(m), {f.name: getattr(m.config, f.name) for f in fields(m.config)}
    asked: dict[str, Any] = {
        "path": sys.path,
        "module": cls.__module__,
        "file": inspect.getsourcefile(cls),
        "name": cls.__qualname__,
        "options": setting,
        "text": text,
    }
    given = json.dumps(asked)
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", _CHILD]
    pipe = subprocess.PIPE
    results = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, text=True)
        for _ in range(2)
    ]
    try:
        out = [process.communicate(given, timeout=LONGEST)[0] for process in results]
    finally:
        for process in results:
            process.kill()
            process.wait()
    first, second = (json.loads(text.splitlines()[-1]) if text.strip() else None for text in out)
    if first is None or second is None:
        raise ValueError("a process returned no noise IDs")
    return first, second
