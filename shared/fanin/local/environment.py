"""The environment variables of a process that uses a local run."""

from __future__ import annotations

from collections.abc import Mapping

from fanin.aws.settings import OUTPUTS
from fanin.local.connection import ACCOUNT, Connection

CONSUMERS = {"BATCHES": "BatchesTable", "PAGES": "PagesTable"}
"""The variables of the README's consumer, and the stack outputs with their values."""
TENANTS = ("FANIN_TENANT", "TENANT")


def environment_of(endpoint: str, outputs: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for AWS at *endpoint*, a URL, and for the tables, doorbells and tenant."""
    names = {name: outputs[output] for name, output in {**OUTPUTS, **CONSUMERS}.items() if output in outputs}
    return {**Connection(endpoint).environment, **names, **dict.fromkeys(TENANTS, ACCOUNT)}
