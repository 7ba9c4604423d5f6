"""The local run: the synthesised deployment on an emulator of AWS, on loopback, without an account.

The promise: the deployed handlers run as they are, on the resources of the template. What AWS refuses, the
local run refuses (``request_rules/``); docs/local.md lists what differs.

::

    run.py  --> deploying/: assembly.py synthesises by a child process (synthesis.py), deployment.py deploys
       `--> emulator_process/host.py, a child process: the emulator, and the API's port (gateway.py)
               `--> function_processes/: a process for each function, forked from one that has its libraries
               `--> dynamodb_engine/: the tables in a DynamoDB of the user's
    ``fanin local work``: user_function/feeding.py, a worker of ``fanin.client.sqs_worker``

Read in this order: ``run.py``, ``run_directories.py``, ``deploying/assembly.py`` and ``deployment.py``;
``emulator_process/emulator.py`` (the parent's side) and ``host.py`` (the child's);
``emulator_patches/``; ``user_function/feeding.py``; ``dynamodb_engine/``.
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
