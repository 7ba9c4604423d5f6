"""The settings file of a deployment: what the functions read from their code and not from the environment."""

from __future__ import annotations

import json
from pathlib import Path

from fanin.settings.settings_file import NAME, SettingsFile
from fanin_cdk.resources.dead_letter_queues import tenants_by_queue
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import limits


def settings_file(config: Config) -> SettingsFile:
    """Return the lists of *config*, whose entries ``Config`` has checked."""
    return SettingsFile(
        dead_letter_tenants={arn: tenant for arn, tenant in tenants_by_queue(config).items() if tenant},
        grouper_policies=json.loads(config.grouper_policies),
        grouper_downstream=json.loads(config.grouper_downstream),
        grouper_target=config.grouper_target,
        callbacks=json.loads(config.callbacks),
        publications=json.loads(config.publications),
        resumed_state_machines=config.resumed_state_machines,
        resumed_durable_functions=config.resumed_durable_functions,
        quotas=limits(config),
    )


def write_settings_file(config: Config, code: Path) -> None:
    """Write the settings of *config* into *code*, the folder that becomes the zip of all functions."""
    (code / "functions" / NAME).write_text(settings_file(config).to_json())
