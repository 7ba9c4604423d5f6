"""What a process needs in its environment to work against a local run."""

from __future__ import annotations

from collections.abc import Mapping

from fanin.aws.settings import OUTPUTS
from fanin.local.connection import ACCOUNT, Connection

CONSUMERS = {"BATCHES": "BatchesTable", "PAGES": "PagesTable"}
"""By which names the README's consumer knows the tables."""
TENANTS = ("FANIN_TENANT", "TENANT")


def environment_of(endpoint: str, outputs: Mapping[str, str]) -> dict[str, str]:
    """The run with AWS at *endpoint*, a URL, and the stack's *outputs*: AWS, tables, doorbells and tenant."""
    told = {name: outputs[output] for name, output in {**OUTPUTS, **CONSUMERS}.items() if output in outputs}
    return {**Connection(endpoint).environment, **told, **dict.fromkeys(TENANTS, ACCOUNT)}
