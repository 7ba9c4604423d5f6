"""``fanin template``: writes the CloudFormation template and its assets, and prints how to deploy them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from fanin.cli.local_run.local import Context, setting_of
from fanin.cli.terminal.output import note
from fanin.cli.verbs import VerbCommand
from fanin.local import prerequisites
from fanin.local.deploying.setting_names import refuse_unknown
from fanin.local.deploying.template import (
    BUCKET,
    DEFAULT_PREFIX,
    PARAMETERS,
    PREFIX,
    synthesised,
    written_before,
)
from fanin.local.errors import LocalRunError

Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A new folder, or one of an earlier run.")]
Bucket = Annotated[
    str | None,
    typer.Option(
        "--bucket", metavar="NAME", help="The bucket in the commands; else the variable BUCKET of the shell."
    ),
]
Prefix = Annotated[str, typer.Option("--prefix", metavar="TEXT", help="The prefix in the commands.")]
Settings = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="A JSON object of settings, or a cdk.json; -c overrides them.",
    ),
]


def template(
    out: Out,
    bucket: Bucket = None,
    prefix: Prefix = DEFAULT_PREFIX,
    settings: Settings = None,
    context: Context = None,
) -> None:
    """Write the CloudFormation template and its assets, and print the `aws` commands that deploy them."""
    _check(BUCKET, bucket)
    _check(PREFIX, below := _below(prefix))
    _check_folder(out)
    options = dict(map(setting_of, context or ()))
    given = {**_settings_in(settings), **options}
    prerequisites.require(packages=prerequisites.OF_SYNTHESIS, who="fanin template")
    refuse_unknown(options)
    note("synthesising the deployment (half a minute)")
    written, warnings = synthesised(given, out)
    for line in warnings:
        note(line)
    for command in commands(written, shlex.quote(bucket) if bucket is not None else '"$BUCKET"', below):
        typer.echo(command)


def commands(written: Path, bucket: str, prefix: str) -> tuple[str, str]:
    """Return the shell commands that upload the folder of the template *written* and deploy it.

    *prefix*: empty, or with a slash at its end.
    """
    folder, file = shlex.quote(str(written.parent)), shlex.quote(str(written))
    of_large_templates = f" --s3-prefix {prefix.removesuffix('/')}" if prefix else ""
    return (
        f"aws s3 cp --recursive {folder} s3://{bucket}/{prefix}",
        f"aws cloudformation deploy --stack-name {written.name.partition('.')[0]} --template-file {file}"
        f" --s3-bucket {bucket}{of_large_templates} --capabilities CAPABILITY_IAM"
        f" --parameter-overrides {BUCKET}={bucket} {PREFIX}={prefix}",
    )


def add_to(root: typer.Typer) -> None:
    """Make it a command of *root*."""
    root.command(cls=VerbCommand)(template)


def _below(prefix: str) -> str:
    """Return *prefix* as the parameter takes it: empty, or with a slash at its end."""
    bare = prefix.strip("/")
    return f"{bare}/" if bare else ""


def _check(parameter: str, value: str | None) -> None:
    """Exit unless the *parameter* of the template takes *value*."""
    pattern = PARAMETERS[parameter]["AllowedPattern"]
    if value is not None and not re.fullmatch(pattern, value):
        raise typer.BadParameter(f"{value!r} does not match {pattern}, as {parameter} of the template has to")


def _check_folder(out: Path) -> None:
    try:
        written_before(out)
    except LocalRunError as error:
        raise typer.BadParameter(str(error)) from None


def _settings_in(file: Path | None) -> dict[str, Any]:
    """Return the settings in *file*: a JSON object of them, or one with the key ``context`` as cdk.json."""
    if file is None:
        return {}
    try:
        content = json.loads(file.read_text())
    except ValueError as error:
        raise typer.BadParameter(f"{file} is no JSON: {error}") from None
    found = content.get("context", content) if isinstance(content, dict) else content
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{file} holds no JSON object of settings")
    return found
