"""Functions of the user whose messages come back to them through SQS.

Lambda drops an invocation after about 16 of a function in one chain of requests
(``fanin.local.emulator_patches.lineage``), unless ``RecursiveLoop`` of the function is ``Allow``. A consumer
of a work queue rings its own doorbell, so it has to loop. A consumer that opens batches loops if their items
come back to it; only its author knows.
"""

from __future__ import annotations

from typing import Any, cast

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_

from fanin_cdk.grants.equipping import function_of
from fanin_cdk.settings.config import ConfigError

ALLOW, TERMINATE = "Allow", "Terminate"
CONSUMES, PUBLISHES = "fanin:consumes", "fanin:publishes"
WARNING = "fanin:recursive_loop"
BY_DESIGN = "it rings its own doorbell, for jobs that it gives back"


def setting_of(function: lambda_.IFunction) -> str | None:
    """Return ``Allow``, ``Terminate``, or None where *function* leaves it to Lambda, which terminates."""
    return _resource_of(function).recursive_loop


def allow(worker: lambda_.IFunction) -> None:
    """Let *worker*, a consumer of a work queue, loop. Raises ConfigError if its setting forbids it."""
    if function_of(worker) is None:
        Annotations.of(worker).add_warning_v2(
            WARNING, f"{worker.node.path} is imported: set its RecursiveLoop to Allow, because {BY_DESIGN}"
        )
        return
    if setting_of(worker) == TERMINATE:
        raise ConfigError(
            f"consume_jobs: recursive_loop of {worker.node.path} is TERMINATE, and {BY_DESIGN}: "
            "leave it out, or set it to ALLOW"
        )
    _resource_of(worker).recursive_loop = ALLOW


def note(grantee: Any, role: str) -> None:
    """Note that *grantee* consumes or publishes; warn of a function that does both without a setting."""
    function = function_of(grantee)
    if function is None or any(each.type == role for each in function.node.metadata):
        return
    function.node.add_metadata(role, True)
    roles = {each.type for each in function.node.metadata}
    if {CONSUMES, PUBLISHES} <= roles and setting_of(function) is None:
        Annotations.of(function).add_warning_v2(
            WARNING,
            f"{function.node.path} consumes items and opens batches. If their items come back to it, Lambda "
            "stops it at a depth of 16: set its recursive_loop to ALLOW, else to TERMINATE",
        )


def _resource_of(function: lambda_.IFunction) -> lambda_.CfnFunction:
    found: Any = function_of(function)
    return cast(lambda_.CfnFunction, found.node.default_child)
