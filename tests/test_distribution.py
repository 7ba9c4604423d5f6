"""What is distributed: the files of the wheel and of the sdist, the same bytes each time, and the notices."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILT_FROM = (
    *("shared", "functions", "pipeline", "requirements.txt", "pyproject.toml"),
    *("README.md", "CHANGELOG.md", "LICENSE", "NOTICE", ".gitignore"),
)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
DIST_INFO = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", "licenses/NOTICE")
EPOCH = "1763769600"
NOTICED = re.compile(r"^  ([a-z-]+) +(\S+) +https://", re.MULTILINE)
PIN = re.compile(r"^([a-z0-9-]+)==", re.MULTILINE)


def copied(folder: Path, mode: int, mask: int = 0o022) -> Path:
    """A copy of what the distributions are built from, with times of now, files of *mode*, and bytecode."""
    for name in BUILT_FROM:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(source, target)
    for path in folder.rglob("*"):
        path.chmod(0o755 & ~mask if path.is_dir() else mode)
    return folder


def build(tree: Path, kind: str) -> Path:
    """Build the *kind* of distribution of *tree* and return its file."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", "dist"]
    subprocess.run(command, cwd=tree, check=True, capture_output=True, env=env)
    (found,) = (tree / "dist").glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The wheel and the sdist of a copy of the tree, by kind."""
    tree = copied(tmp_path_factory.mktemp("tree"), 0o644)
    return {kind: build(tree, kind) for kind in ("wheel", "sdist")}


def of_git(folder: str) -> set[str]:
    """The files below *folder* that git has or would add, relative to it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."]
    completed = subprocess.run(command, cwd=ROOT / folder, capture_output=True, check=True, text=True)
    return {name for name in completed.stdout.splitlines() if (ROOT / folder / name).exists()}


def test_the_wheel_holds_both_packages_what_they_deploy_and_nothing_else(built):
    held = set(ZipFile(built["wheel"]).namelist())
    deployed = {f"fanin_cdk/functions/{name}" for name in of_git("functions")}
    jobs = {f"fanin/pipeline_code/pipeline/{name}" for name in of_git("pipeline")}
    facts = {f"fanin-{VERSION}.dist-info/{name}" for name in DIST_INFO}

    assert {name.partition("/")[0] for name in held} == {
        "fanin",
        "fanin_cdk",
        "fanin_conformance",
        f"fanin-{VERSION}.dist-info",
    }
    assert held == of_git("shared") | deployed | jobs | {"fanin_cdk/requirements.txt"} | facts


def test_the_verbs_of_the_pipeline_run_from_the_wheel(built, tmp_path):
    shutil.unpack_archive(built["wheel"], tmp_path, "zip")
    command = [sys.executable, "-m", "fanin.cli.main", "bulk-ack", "--help"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}

    completed = subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True, text=True)

    assert completed.stdout.startswith("usage: bulk_ack ")


def test_the_layer_of_the_wheel_is_that_of_the_tree(built):
    with ZipFile(built["wheel"]) as archive:
        assert archive.read("fanin_cdk/requirements.txt") == (ROOT / "requirements.txt").read_bytes()


def test_both_packages_are_typed(built):
    held = set(ZipFile(built["wheel"]).namelist())

    assert {name.partition("/")[0] for name in held if name.endswith("/py.typed")} == {
        "fanin",
        "fanin_cdk",
        "fanin_conformance",
    }


def test_the_sdist_holds_what_the_wheel_is_built_from(built):
    with tarfile.open(built["sdist"]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    trees = {f"{folder}/{name}" for folder in ("shared", "functions", "pipeline") for name in of_git(folder)}

    assert held == trees | {name for name in BUILT_FROM if (ROOT / name).is_file()} | {"PKG-INFO"}


def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(built["sdist"]) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()

    assert build(tree, "wheel").read_bytes() == built["wheel"].read_bytes()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_builds_of_one_commit_are_the_same_bytes(built, tmp_path, kind):
    private = copied(tmp_path, 0o600, mask=0o077)

    assert build(private, kind).read_bytes() == built[kind].read_bytes()


def test_the_notices_name_what_the_layer_holds_and_their_licences():
    rows = NOTICED.findall((ROOT / "NOTICE").read_text())
    pinned = PIN.findall((ROOT / "requirements.txt").read_text())

    assert [name for name, _ in rows] == sorted(pinned)
    for name, licence in rows:
        assert re.search(rf"(?<![\w-]){licence}(?![\w-])", said_of(name)), name


def said_of(package: str) -> str:
    """What the metadata of *package* and the first line of its licence say of its licence."""
    found = distribution(package)
    (text,) = (file.read_text() for file in found.files or () if file.name == "LICENSE")
    known = [
        *(found.metadata.get_all(name) or () for name in ("License", "License-Expression", "Classifier"))
    ]
    return "\n".join([text, *(each for values in known for each in values)])
