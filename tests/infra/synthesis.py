"""Templates as the app synthesises them: each variant once for all workers and runs of the same sources.

The assemblies lie in ``build/synthesised``, by a digest of what synthesis reads and by their settings.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

from fanin.local.function_processes.deployed import module_of
from fanin.settings.settings_file import SettingsFile
from fanin_cdk.packaging import code
from fanin_cdk.settings.config import Config
from infra.config import StackConfig
from infra.paths import ROOT

Resource = dict[str, Any]

# No stack is bundled: these tests look at the layer's place, not at its packages.
UNBUNDLED: dict[str, Any] = {"aws:cdk:bundling-stacks": []}

CONTEXT: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text())["context"]

STORE = ROOT / "build" / "synthesised"
READ = (
    *("infra", "shared", "functions", "pipeline", "tests/infra/synthesis.py"),
    *("cdk.json", "pyproject.toml", "requirements.txt"),
)
PACKAGES = ("aws-cdk-lib", "cdk-nag", "cfn-lint", "constructs", "jsii")
"""The files, folders and packages that decide what a synthesis writes and what the checks of it find."""


@dataclass(frozen=True)
class Assembly:
    """What one synthesis wrote: the template, and the folder with the assets beside it."""

    template: dict[str, Any]
    folder: Path

    @classmethod
    def of(cls, folder: Path) -> Assembly:
        """What lies in *folder*, of one stack."""
        (path,) = folder.glob("*.template.json")
        return cls(json.loads(path.read_text()), folder)

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
    return _synthesised(StackConfig.from_context({**CONTEXT, **settings}))


@functools.cache
def _synthesised(config: StackConfig) -> Assembly:
    return Assembly.of(
        stored(f"template {config}", lambda folder: _synthesise(json.dumps(asdict(config)), folder))
    )


def _synthesise(settings: str, folder: Path) -> None:
    # Here, for loading the CDK starts a Node, which the collection of other tests need not wait for.
    from infra.app import build

    build({**UNBUNDLED, **json.loads(settings)}, outdir=str(folder))[0].synth()


@contextmanager
def without_sources() -> Iterator[None]:
    """Synthesise without the modules of the zip and of the client's layer, and read the sources once.

    Copying them takes longer than all constructs of a tracker.
    """
    fakes = {
        "assemble": lambda folder: (folder / "functions").mkdir(),
        "assemble_client": lambda folder: folder.mkdir(),
        "digest": functools.cache(code.digest),
        "client_digest": functools.cache(code.client_digest),
    }
    with patch.multiple(code, **fakes):
        yield


def stored(key: str, write: Callable[[Path], None]) -> Path:
    """Return the folder of *key*, which *write* fills once for all processes and runs of the same sources."""
    folder = STORE / sources() / sha256(key.encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    complete = folder.with_suffix(".complete")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write(folder)
            complete.touch()
    return folder


@functools.cache
def sources() -> str:
    """Return a digest of the files that synthesis and its checks read; what other sources left is removed."""
    files = sorted(path for read in READ for path in (ROOT / read).glob("**/*") if path.is_file())
    files += [ROOT / read for read in READ if (ROOT / read).is_file()]
    digest = sha256(f"{sys.version} {[version(each) for each in PACKAGES]}".encode())
    for path in files:
        if path.suffix != ".pyc":
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    name = digest.hexdigest()[:16]
    for other in STORE.glob("*"):
        if other.name != name:
            shutil.rmtree(other, ignore_errors=True)
    return name


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
