"""Templates as the app synthesises them: each variant once, however many tests look at it."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from fanin.aws.settings.settings_file import SettingsFile
from fanin.local.functions.deployed import module_of
from fanin_cdk.settings.config import Config
from infra.config import StackConfig

Resource = dict[str, Any]

# No stack is bundled: these tests look at the layer's place, not at its packages.
UNBUNDLED: dict[str, Any] = {"aws:cdk:bundling-stacks": []}


@dataclass(frozen=True)
class Assembly:
    """What one synthesis wrote: the template, and the folder with the assets beside it."""

    template: dict[str, Any]
    folder: Path

    @property
    def code(self) -> Path:
        """The folder that becomes the zip of every function."""
        functions = self.of_type("AWS::Lambda::Function").values()
        (key,) = {each["Properties"]["Code"]["S3Key"] for each in functions}
        return self.folder / f"asset.{key.removesuffix('.zip')}"

    @property
    def settings_file(self) -> SettingsFile:
        """What the functions read from their code, as they read it."""
        return SettingsFile.read(self.code / "functions", env={})

    def of_type(self, kind: str) -> dict[str, Resource]:
        """The resources of a CloudFormation type by logical id."""
        return {name: each for name, each in self.template["Resources"].items() if each["Type"] == kind}

    def only(self, kind: str) -> Resource:
        """The one resource of a type."""
        (found,) = self.of_type(kind).values()
        return found

    def named(self, kind: str, prefix: str) -> Resource:
        """The one resource of a type whose logical id begins with *prefix*."""
        (found,) = (each for name, each in self.of_type(kind).items() if name.startswith(prefix))
        return found


WRITE_LOGS_BY_A_POLICY = {"AWS::ApiGatewayV2::Stage", "AWS::StepFunctions::StateMachine"}
"""Resources whose service is admitted to a log group by the one resource policy of CloudWatch Logs."""


def logs_by_a_policy(template: Mapping[str, Any]) -> list[str]:
    """The names of the log groups to which services write by the resource policy; a reference as JSON."""
    resources = template["Resources"]
    writers = [json.dumps(each) for each in resources.values() if each["Type"] in WRITE_LOGS_BY_A_POLICY]
    groups = {name: each for name, each in resources.items() if each["Type"] == "AWS::Logs::LogGroup"}
    written = [name for name in groups for writer in writers if f'"{name}"' in writer]
    return [flat(groups[name]["Properties"].get("LogGroupName", "")) for name in written]


def flat(value: Any) -> str:
    """A text of the template, with references as ``{Name}``."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return str(separator).join(map(flat, parts))
    return "{" + str(value["Ref"]) + "}"


def synthesised(**settings: Any) -> Assembly:
    """The app with *settings* in its context, synthesised."""
    return _synthesised(json.dumps(settings, sort_keys=True))


@functools.cache
def _synthesised(settings: str) -> Assembly:
    # Here, for loading the CDK starts a Node, which the collection of other tests need not wait for.
    from infra.app import build

    folder = scratch_folder()
    app, stack = build({**UNBUNDLED, **json.loads(settings)}, outdir=str(folder))
    template: Mapping[str, Any] = app.synth().get_stack_by_name(stack.stack_name).template
    return Assembly(dict(template), folder)


def tracker_config(**settings: Any) -> Config:
    """What the construct of the stack gets for *settings*."""
    return Config.of(StackConfig.from_context(settings).of_tracker)


def scratch_folder() -> Path:
    """An empty folder that goes when the tests end."""
    folder = Path(mkdtemp(prefix="fanin-synth-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def handler_of(function: Resource) -> str:
    """The name of the module in functions/ that *function* runs, ``api.read_tasks`` of a file in ``api/``."""
    return module_of(function["Properties"]["Handler"])
