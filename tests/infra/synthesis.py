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

from fanin.aws.settings_file import SettingsFile
from fanin_cdk.config import Config
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
    """The name of the module in functions/ that *function* runs."""
    return str(function["Properties"]["Handler"]).split(".")[1]
