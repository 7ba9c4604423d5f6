"""CDK constructs: the tracker, the group-batcher and the work queues, in a stack of yours.

The promise: a setting is known, typed and read by something, or the synthesis fails and says what to do. Each
function has a role of its own, whose grants have no ``*`` but X-Ray's, with ``monitoring=full``, and the
prefix of doorbells.

::

    tracker.py: FaninTracker --> composition.py: its parts, each where its setting enables it
      settings/     what may be set                resources/   API, functions, tables, queues
      grants/       what each function may do      events/      the ending of a batch, and to whom it goes
      packaging/    the zips that are deployed     monitoring/  alarms, metrics, the dashboard

Read in this order: ``tracker.py``, ``composition.py``; ``settings/config.py``; ``grants/handlers.py``, the
functions and their grants; ``resources/functions.py`` and ``resources/api.py``; ``limits.py``, what
AWS would refuse at deployment.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanin_cdk.constructs.grouper import FaninGrouper
    from fanin_cdk.constructs.jobs import FaninQueues
    from fanin_cdk.settings.config import ConfigError
    from fanin_cdk.tracker import FaninTracker

__all__ = ["ConfigError", "FaninGrouper", "FaninQueues", "FaninTracker"]

# Loaded at the first access: the CDK starts a Node, which an app may choose before, and takes a second.
_ROOM_OF = {
    "ConfigError": "fanin_cdk.settings.config",
    "FaninGrouper": "fanin_cdk.constructs.grouper",
    "FaninQueues": "fanin_cdk.constructs.jobs",
    "FaninTracker": "fanin_cdk.tracker",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ROOM_OF[name]), name)
