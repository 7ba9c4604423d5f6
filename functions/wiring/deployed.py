"""What this deployment has by its settings file, which is read once in each process, at its first use."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from fanin.aws.settings.settings_file import SettingsFile
from fanin.errors import InvalidRequest

FUNCTIONS = Path(__file__).parents[1]


def resumes_tasks() -> bool:
    """Return whether the stack ends tasks of state machines: those of its settings, or of its constructs."""
    return os.environ.get("FANIN_RESUMES") == "true" or bool(settings_file().resumed_state_machines)


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
