"""The settings file of a deployment: what the functions read from their code and not from the environment."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

from fanin.settings.settings_file import NAME, SettingsFile
from fanin_cdk.constructs.dead_letter_queues import tenants_by_queue
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import limits

IN_JSON = {"grouper_policies", "grouper_downstream", "callbacks", "publications"}
"""The lists that ``Config`` has as the text of a JSON document."""


def settings_file(config: Config) -> SettingsFile:
    """Return the lists of *config*, whose entries ``Config`` has checked."""
    tenants = {arn: tenant for arn, tenant in tenants_by_queue(config).items() if tenant}
    derived: dict[str, Any] = {"dead_letter_tenants": tenants, "quotas": limits(config)}
    for each in fields(SettingsFile):
        if each.name not in derived:
            given = getattr(config, each.name)
            derived[each.name] = json.loads(given) if each.name in IN_JSON else given
    return SettingsFile(**derived)


def write_settings_file(config: Config, code: Path) -> None:
    """Write the settings of *config* into *code*, the folder that becomes the zip of all functions."""
    (code / "functions" / NAME).write_text(settings_file(config).to_json())
