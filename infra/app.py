"""The entry point of the CDK app: ``python -m infra.app``, with or without the CDK command line.

``CDK_OUTDIR`` is the folder of the cloud assembly (default: the CDK chooses one). ``CDK_CONTEXT_JSON`` holds
context values that override those of cdk.json. The command line sets both.
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
    """Return the context of cdk.json: feature flags and stages. The CDK command line passes the same."""
    context: dict[str, Any] = json.loads(CDK_JSON.read_text())["context"]
    return context


def build(context: Mapping[str, Any] | None = None, outdir: str | None = None) -> tuple[cdk.App, FaninStack]:
    """Return the app and its one stack, not yet synthesised.

    *context* overrides cdk.json's context; *outdir* overrides ``CDK_OUTDIR``.
    """
    app = cdk.App(context={**cdk_json_context(), **(context or {})}, outdir=outdir)
    config = Config.from_context(app.node.get_all_context())
    return app, FaninStack(app, f"Fanin-{config.stage}", config)


def check(app: cdk.App) -> None:
    """Make synthesis fail on each finding of the AWS Solutions rules that no construct accepts."""
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def main() -> None:
    """Synthesise the app with the AWS Solutions checks; exit with a message for an invalid setting."""
    try:
        app, _ = build()
    except ConfigError as error:
        sys.exit(f"configuration: {error}")
    check(app)
    app.synth()


if __name__ == "__main__":
    main()
