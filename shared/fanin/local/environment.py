"""The environment variables of a process that uses a local run."""

from __future__ import annotations

from collections.abc import Mapping

from fanin.local.emulator_process.connection import ACCOUNT, Connection
from fanin.settings.tracking import OUTPUTS


def environment_of(url: str, endpoint: str, outputs: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for the API at *url*, AWS at *endpoint*, and tables, doorbells and tenant."""
    names = {name: outputs[output] for name, output in OUTPUTS.items() if output in outputs}
    return {**Connection(endpoint).environment, "FANIN_URL": url, **names, "FANIN_TENANT": ACCOUNT}
