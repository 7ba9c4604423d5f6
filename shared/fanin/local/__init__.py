"""The local run: the synthesised deployment on an emulator of AWS, on loopback, without an account."""

from fanin.local.errors import LocalRunError
from fanin.local.run import LocalRun

__all__ = ["LocalRun", "LocalRunError"]
