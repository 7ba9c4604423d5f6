"""The entry point of the CDK app: ``python -m infra.app``, with or without the CDK command line.

``CDK_OUTDIR`` is the folder of the cloud assembly (default: the CDK chooses one). ``CDK_CONTEXT_JSON`` holds
context values that override those of cdk.json. The command line sets both.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from fanin_cdk.event_delivery.callbacks import check_place
from fanin_cdk.limits import Measured, measured
from fanin_cdk.nag import accept
from fanin_cdk.settings.config import ConfigError
from fanin_cdk.settings.fitting import fit
from infra.config import StackConfig
from infra.paths import CDK_JSON
from infra.stack import FaninStack

UNLIMITED = {"@aws-cdk/core:stackResourceLimit": 0}
"""The CDK does not count resources: its error names no setting. ``fanin_cdk.limits`` does."""


def cdk_json_context() -> dict[str, Any]:
    """Return the context of cdk.json: feature flags and stages. The CDK command line passes the same."""
    context: dict[str, Any] = json.loads(CDK_JSON.read_text())["context"]
    return context


def build(context: Mapping[str, Any] | None = None, outdir: str | None = None) -> tuple[cdk.App, FaninStack]:
    """Return the app and its one stack, not yet synthesised.

    *context* overrides cdk.json's context; *outdir* overrides ``CDK_OUTDIR``.
    """
    app = cdk.App(context={**cdk_json_context(), **UNLIMITED, **(context or {})}, outdir=outdir)
    return app, _stack(app, StackConfig.from_context(app.node.get_all_context()))


def _stack(app: cdk.App, config: StackConfig) -> FaninStack:
    check_place(config, os.environ.get("CDK_DEFAULT_ACCOUNT"), os.environ.get("CDK_DEFAULT_REGION"))
    accept(app, "fanin_cdk.limits counts resources, and names the setting", "CloudFormation-Validate::F0007")
    return FaninStack(app, f"Fanin-{config.stage}", config)


def share_of_limits(config: StackConfig) -> float:
    """Return the largest share of a limit of AWS that the template of *config* uses; packages nothing."""
    with TemporaryDirectory() as outdir:
        context = {**cdk_json_context(), **UNLIMITED, "aws:cdk:bundling-stacks": []}
        app = cdk.App(context=context, outdir=outdir)
        return _measured(app, _stack(app, config))[0].share


def _measured(app: cdk.App, stack: FaninStack) -> list[Measured]:
    """Synthesise the app and return what has a limit. Raises ConfigError for findings of the checks."""
    try:
        template = app.synth().get_stack_by_name(stack.stack_name).template
    except RuntimeError as error:
        raise ConfigError(f"the checks of the template found errors: {error}") from error
    return measured(template, stack.stack_name)


def check(app: cdk.App) -> None:
    """Make synthesis fail on each finding of the AWS Solutions rules that no construct accepts."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def main() -> None:
    """Synthesise the app with the AWS Solutions checks.

    Exits with a message for an invalid setting, and for settings that exceed a limit of AWS.
    """
    try:
        app, stack = build()
        check(app)
        _refuse_too_large(stack.config, _measured(app, stack))
    except ConfigError as error:
        sys.exit(f"configuration: {error}")


def _refuse_too_large(config: StackConfig, found: Sequence[Measured]) -> None:
    """Raise ConfigError with the worst case of each limit that is exceeded; *found* has the worst first."""
    worst = {each.limit: each for each in reversed(found) if each.share > 1}
    if worst:
        reasons = "; ".join(str(each) for each in worst.values())
        fitting = fit(config, share_of_limits)
        raise ConfigError(f"{fitting}: {reasons}" if fitting else reasons)


if __name__ == "__main__":
    main()
