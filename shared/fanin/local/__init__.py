"""The local run: the synthesised deployment on an emulator of AWS, on loopback, without an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanin.local.errors import LocalRunError

if TYPE_CHECKING:
    from fanin.local.run import LocalRun

__all__ = ["LocalRun", "LocalRunError"]


def __getattr__(name: str) -> Any:
    # Loaded when first named: a command that starts no run does not pay for boto3.
    if name != "LocalRun":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fanin.local.run import LocalRun  # noqa: PLC0415  # see above

    return LocalRun
