"""``mechanisms``: list them with their options."""

from __future__ import annotations

import argparse
import dataclasses

import dptext_core as dpt

from ...errors import DPTextError
from ...mechanisms import codec
from ...mechanisms.option_meta import option_meta
from ...privacy.sentences import NOTIONS
from ..arguments import describe
from ..console import emit


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(args: argparse.Namespace) -> None:
    blocks = []
    for spec in dpt.mechanisms():
        lines = [f"{spec.name}: {spec.title}"]
        if spec.summary:
            lines.append(f"  {spec.summary}")
        lines.append(f"  guarantee: {NOTIONS[spec.notion]}; needs: {', '.join(spec.needs) or 'nothing'}")
        try:
            most: float | None = dpt.get_mechanism(spec.name).max_epsilon
        except DPTextError:  # a mechanism that needs the user's own vectors or model
            most = None
        for field in dataclasses.fields(spec.config_cls):
            allowed = option_meta(field).choices
            flag = codec.flag(field)
            if option_meta(field).kind == "flag":
                flag += " | --no-" + flag.removeprefix("--")
            lines.append(f"  {flag}{' ' + '|'.join(allowed) if allowed else ''}")
            lines.append(f"      {describe(field, spec.name, most if field.name == 'epsilon' else None)}")
        blocks.append("\n".join(lines))
    emit("\n\n".join(blocks))
