"""The entry of the CDK app: ``python -m infra.app``, with or without the CDK command line.

``CDK_OUTDIR`` names where the cloud assembly goes (else the CDK chooses); ``CDK_CONTEXT_JSON`` holds context
that goes before cdk.json's. The command line sets both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks

from infra.config import Config, ConfigError
from infra.paths import CDK_JSON
from infra.stack import FaninStack


def cdk_json_context() -> dict[str, Any]:
    """The context of cdk.json, feature flags and stages; the command line hands over the same."""
    context: dict[str, Any] = json.loads(CDK_JSON.read_text())["context"]
    return context


def build(context: Mapping[str, Any] | None = None, outdir: str | None = None) -> tuple[cdk.App, FaninStack]:
    """The app and its one stack, not yet synthesised.

    *context* goes before cdk.json's; *outdir* before ``CDK_OUTDIR``.
    """
    app = cdk.App(context={**cdk_json_context(), **(context or {})}, outdir=outdir)
    config = Config.from_context(app.node.get_all_context())
    return app, FaninStack(app, f"Fanin-{config.stage}", config)


def check(app: cdk.App) -> None:
    """Let synthesis fail on any finding of the AWS Solutions rules that is not accepted where it stands."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def main() -> None:
    """Synthesise, checked."""
    try:
        app, _ = build()
    except ConfigError as error:
        sys.exit(f"configuration: {error}")
    check(app)
    app.synth()


if __name__ == "__main__":
    main()
