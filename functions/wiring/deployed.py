"""What this deployment has by its settings file, which is read once in each process, at its first use."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from fanin.errors import InvalidRequest
from fanin.settings.settings_file import SettingsFile

FUNCTIONS = Path(__file__).parents[1]


def resumes(kind: str) -> bool:
    """Return whether the stack ends what waits with a *kind* of token, by its settings or its constructs."""
    return bool(settings_file().resumed(kind)) or kind in os.environ.get("FANIN_RESUMES", "").split(",")


@lru_cache(maxsize=1)
def settings_file() -> SettingsFile:
    """Return the settings beside the handlers. Raises RuntimeError, because callers cannot correct them."""
    try:
        return SettingsFile.read(FUNCTIONS)
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


def check_callback(name: str | None, tenant: str, own: str) -> None:
    """Raise InvalidRequest, with the names allowed, unless batches of *tenant* may name this callback.

    *own*: the tenant of the stack. Only a request that names a callback loads their parser.
    """
    if name is None:
        return
    from fanin.callbacks import callbacks_of, check_allowed  # noqa: PLC0415  # few requests need it

    check_allowed(name, callbacks_of(settings_file().callbacks), tenant, own)
