"""What is used of PyTorch and transformers that they do not promise to keep, and how its loss is noticed.

Two things. On a processor, products by the operators of oneDNN that torch.compile uses (no public name).
And for models that transformers loads, the names of their parts: `fast_bert` reads the weights out of them, or cuts
the encoder's output. Each is tried on a small input when a model is loaded. Where it is missing, fails or gives other
scores than the public way, the public way is taken: slower, with the same scores up to rounding. A warning says so
once, and so does `MaskedLM.description`.
"""

from __future__ import annotations

import importlib.metadata
import platform
import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from .._internal.device import one_thread

if TYPE_CHECKING:
    import torch

#: The versions that the fast path was checked with: those that requirements.txt pins.
CHECKED_WITH = {"torch": "2.13.0", "transformers": "5.23.0"}

_PRODUCTS = ("_linear_pointwise", "_reorder_linear_weight", "_is_mkldnn_bf16_supported")
_announced: set[str] = set()


class SlowerPath(UserWarning):
    """A fast path is lost with the installed versions; the public one is taken."""


def announce(why: str) -> None:
    """Warn, once a process for each reason, that the slower public path is taken."""
    if why in _announced:
        return
    _announced.add(why)
    installed = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in CHECKED_WITH)
    known = ", ".join(f"{name} {version}" for name, version in CHECKED_WITH.items())
    warnings.warn(
        f"The language model runs by a slower public path, because {why}. Its scores are the same up to rounding. "
        f"Installed: {installed}; the fast path was checked with {known}: install these to have it again.",
        SlowerPath,
        stacklevel=2,
    )


def packed_weight(weight: torch.Tensor) -> torch.Tensor:
    """The weight of a layer, laid out once for oneDNN."""
    import torch

    return torch.ops.mkldnn._reorder_linear_weight(weight, 96)


def packed_product(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, gelu: bool) -> torch.Tensor:
    """A linear layer with a weight from `packed_weight`, with GELU after it if asked."""
    import torch

    after, how = ("gelu", "none") if gelu else ("none", "")
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, after, [], how)


@cache
def has_bf16() -> bool:
    """Whether this processor multiplies bfloat16 natively, and PyTorch has oneDNN to do it."""
    import torch

    able = torch.cpu.get_capabilities()
    return torch.backends.mkldnn.is_available() and bool(able.get("avx512_bf16") or able.get("amx_bf16"))


@cache
def products(dtype: str = "bfloat16") -> tuple[bool, str]:
    """Whether oneDNN's products in a type can be used, and why they are lost ("" where this processor has none)."""
    import torch

    if not torch.backends.mkldnn.is_available():
        return False, ""
    # Where float32 is fast by these operators on other processors too has not been measured.
    if dtype == "float32" and platform.machine().lower() not in ("x86_64", "amd64"):
        return False, ""
    ops = torch.ops.mkldnn
    if missing := [name for name in _PRODUCTS if not hasattr(ops, name)]:
        return False, f"PyTorch has no torch.ops.mkldnn.{missing[0]}"
    try:
        if dtype == "bfloat16" and not ops._is_mkldnn_bf16_supported():
            return False, ""
        same = _products_agree(dtype)
    except Exception as error:  # whatever another version does with these arguments
        said = str(error).strip().partition("\n")[0]
        return False, f"torch.ops.mkldnn stopped with {type(error).__name__} ({said})"
    return same, "" if same else "torch.ops.mkldnn gives other products than torch.nn.functional.linear"


def _products_agree(dtype: str) -> bool:
    import torch
    import torch.nn.functional as F

    # Whatever type the caller has products computed in.
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        x, weight, bias = (
            torch.sin(torch.arange(1.0, n + 1) * step).reshape(shape).to(getattr(torch, dtype))
            for n, shape, step in ((96, (2, 3, 16), 0.7), (128, (8, 16), 1.3), (8, (8,), 2.1))
        )
        want = F.linear(x.float(), weight.float(), bias.float())
        laid_out = packed_weight(weight)
        pairs = [
            (packed_product(x, laid_out, bias, False), want),
            (packed_product(x, laid_out, bias, True), F.gelu(want)),
        ]
        near = {"atol": 1e-4, "rtol": 0} if dtype == "float32" else {"atol": 0.05, "rtol": 0.02}
        return all(a.shape == b.shape and torch.allclose(a.float(), b, **near) for a, b in pairs)


def rows_alike(
    product: Callable[[torch.Tensor], torch.Tensor], width: int, dtype: torch.dtype, sizes: tuple[int, ...]
) -> bool:
    """Whether a layer of `width` inputs gives a row the same bits at any place of any of `sizes` rows, in one thread:
    then the order of its sums does not depend on how many there are. oneDNN does not promise it."""
    import torch

    with torch.inference_mode(), one_thread():
        x = torch.sin(torch.arange(1.0, max(sizes) * width + 1) * 0.7).reshape(-1, width).to(dtype)
        want = product(x)
        return torch.equal(product(x.flip(0)).flip(0), want) and all(
            torch.equal(product(x[:n].contiguous()), want[:n]) for n in sizes
        )


def agree(found: np.ndarray, public: np.ndarray, dtype: str) -> bool:
    """Whether scores (V,) are those of the public path in float32, as closely as ``dtype`` can be."""
    if found.shape != public.shape or not np.array_equal(np.isnan(found), np.isnan(public)):
        return False
    spread = 1.0 + float(np.nanmax(public, initial=0.0) - np.nanmin(public, initial=0.0))
    with np.errstate(invalid="ignore"):
        apart = np.nanmax(np.abs(found - public), initial=0.0)
    return bool(apart <= (1e-3 if dtype == "float32" else 0.1) * spread)


def attempt(work: Callable[[], bool], what: str) -> str:
    """Why ``work``, which says whether the scores of a path agree, did not go well; "" where it did.

    An error of the model itself comes back when the public path is taken.
    """
    import torch

    try:
        return "" if work() else f"{what} gives other scores than the public path"
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # whatever another version does where a part is missing or differs
        return f"{what} does not work with the installed versions ({type(error).__name__})"
