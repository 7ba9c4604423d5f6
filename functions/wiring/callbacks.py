"""The callbacks that this deployment allows; only a request that names one loads their parser."""

from __future__ import annotations

from functions.wiring.consuming import settings
from functions.wiring.deployed import settings_file


def check_callback(name: str | None, tenant: str) -> None:
    """Raise InvalidRequest, with the names allowed, unless batches of *tenant* may name this callback."""
    if name is None:
        return
    from fanin.callbacks import callbacks_of, check_allowed  # noqa: PLC0415  # few requests need it

    check_allowed(name, callbacks_of(settings_file().callbacks), tenant, settings().tenant)
