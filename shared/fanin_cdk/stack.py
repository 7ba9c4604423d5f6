"""A stack of one tracker, as `fanin local up` deploys it outside a clone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from aws_cdk import App, Stack
from constructs import Construct

from fanin_cdk.settings.config import OF_A_CLONE, Config, ConfigError
from fanin_cdk.tracker import FaninTracker

PARTS: dict[str, Any] = {"grouper": True, "queues": True}
"""The parts that a context does not need to name."""


class TrackerStack(Stack):
    """A tracker with the outputs of the stage."""

    def __init__(self, scope: Construct, id_: str, config: Config) -> None:
        super().__init__(scope, id_, description="fanin: reports, exactly once, when all N messages are done")
        settings: dict[str, Any] = asdict(config)
        # The id "Default" is no part of the names of the resources in it.
        self.tracker = FaninTracker(self, "Default", api="jwt" if config.jwt_issuer else "iam", **settings)
        self.tracker.add_outputs()


def build(context: Mapping[str, Any] | None = None, outdir: str | None = None) -> App:
    """Return the app of one stack, not yet synthesised; *context* is the CDK's, with the settings.

    *outdir* overrides ``CDK_OUTDIR``. Raises ConfigError.
    """
    app = App(context=dict(context or {}), outdir=outdir)
    given = {**PARTS, **app.node.get_all_context()}
    _refuse_absent(given)
    config = Config.from_context(given)
    TrackerStack(app, f"Fanin-{config.stage}", config)
    return app


def _refuse_absent(given: Mapping[str, Any]) -> None:
    """Refuse the settings of the project's own stack, whose Spark jobs are not in the package."""
    for name in sorted(filter(OF_A_CLONE.fullmatch, given)):
        if given[name] not in (False, "false"):
            raise ConfigError(
                f"{name} needs a clone of fanin's repository: the package does not have its part"
            )
