"""The only module that imports Ray: without usage statistics, and on a private cluster unless one is named."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..support.extras import install

#: Memory that a private cluster uses for blocks in transit.
STORE = 200_000_000
INSTALL = install("ray")
#: For a private cluster. Ray reads the token once per process. Ray reads the last variable at import; without it, its
#: servers would listen on every network of the machine.
_OWN = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


def check_installed() -> None:
    """Check that Ray is installed, without importing it. Raises ConfigError."""
    if sys.modules.get("ray", ...) is None or importlib.util.find_spec("ray") is None:
        raise ConfigError(f"Ray is not installed here. Install it with: {INSTALL}")


def ray_module(part: str = "ray") -> Any:
    """Import ``ray`` or a part of it. Raises ConfigError if it is not installed."""
    # Read when Ray is imported.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        return importlib.import_module(part)
    except ImportError as error:
        raise ConfigError(
            f"Ray is not installed here ({error.name or 'ray'} is missing). Install it with: {INSTALL}"
        ) from error


@contextlib.contextmanager
def connected(cpus: int | None = None) -> Iterator[Any]:
    """Connect ``ray`` to the cluster in RAY_ADDRESS, else to a temporary private one on this machine, and yield it.

    A private cluster uses the loopback device and a token that only this process and its children have. Its files are
    in a folder that only this user can read, and are deleted afterwards. An existing connection is used and remains
    open. cpus: processors of a private cluster; None: those of the machine. Raises ConfigError.
    """
    address = os.environ.get("RAY_ADDRESS", "").strip()
    with contextlib.ExitStack() as undo:
        if not address and not ("ray" in sys.modules and ray_module().is_initialized()):
            undo.callback(_restore, {name: os.environ.get(name) for name in (*_OWN, "PYTHONPATH")})
            # Workers import this package from the same place as this process.
            paths = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
            os.environ |= _OWN | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        ray = ray_module()
        if ray.is_initialized():
            yield ray
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if address:
            try:
                ray.init(address=address, **quiet)
            except Exception as error:
                raise ConfigError(
                    f"The cluster that RAY_ADDRESS names cannot be reached ({type(error).__name__}). Correct the "
                    "address, or unset the variable to use only this machine."
                ) from error
        else:
            # Only this user can read it. Ray makes its own folder readable to everybody, so that is a subfolder.
            folder = tempfile.mkdtemp(prefix="dptext-")
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            ray.init(
                address="local",
                num_cpus=cpus,
                object_store_memory=STORE,
                include_dashboard=False,
                _temp_dir=f"{folder}/ray",
                **quiet,
            )
        undo.callback(ray.shutdown)
        yield ray


def _restore(before: dict[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
