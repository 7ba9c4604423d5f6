"""The local run: the synthesised deployment on an emulator of AWS, on loopback, without an account.

The promise: the deployed handlers run as they are, on the resources of the template. What AWS refuses, the
local run refuses (``request_rules/``); docs/local.md lists what differs.

::

    run.py  --> stack/: assembly.py synthesises by a child process (synthesis.py), deployment.py deploys
       `--> emulation/host.py, a child process: the emulator, and the API's port (gateway.py)
               `--> functions/: a process for each function, forked from one that has its libraries
               `--> endpoint/: the tables in a DynamoDB of the user's
    ``fanin local work``: work/feeding.py, a worker of ``fanin.client.sqs_worker``, invokes the user's own

Read in this order: ``run.py``, ``run_directories.py``, ``stack/assembly.py``, ``stack/deployment.py``;
``emulation/emulator.py`` (the parent's side) and ``emulation/host.py`` (the child's);
``functions/tuning.py``; ``work/feeding.py``; ``endpoint/``.
"""

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
