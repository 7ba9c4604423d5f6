"""CDK constructs: the tracker, the group-batcher and the work queues, in a stack of yours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanin_cdk.config import ConfigError
    from fanin_cdk.constructs.grouper import FaninGrouper
    from fanin_cdk.constructs.jobs import FaninQueues
    from fanin_cdk.tracker import FaninTracker

__all__ = ["ConfigError", "FaninGrouper", "FaninQueues", "FaninTracker"]

# Loaded at the first access: the CDK starts a Node, which an app may choose before, and takes a second.
_ROOM_OF = {
    "ConfigError": "fanin_cdk.config",
    "FaninGrouper": "fanin_cdk.constructs.grouper",
    "FaninQueues": "fanin_cdk.constructs.jobs",
    "FaninTracker": "fanin_cdk.tracker",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ROOM_OF[name]), name)
