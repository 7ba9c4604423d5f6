"""The written template: deployed by the session's run, from a bucket of its own and without a bootstrap."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from fanin import Fanin
from fanin.local import LocalRun, LocalRunError
from fanin.local.stack import template
from fanin.local.stack.assembly import Assembly
from fanin.local.stack.template import write
from tests.local import small


@pytest.mark.side_by_side
def test_a_batch_completes_on_it_and_nothing_of_a_bootstrap_was_there(run: LocalRun) -> None:
    fanin = Fanin(run.url)
    with fanin.open() as batch:
        items = batch.add(3)
    fanin.ack(items)
    (stack,) = run.client("cloudformation").describe_stacks()["Stacks"]
    buckets = {each["Name"] for each in run.client("s3").list_buckets()["Buckets"]}

    assert batch.status().state == "COMPLETE"
    assert {each["ParameterKey"] for each in stack["Parameters"]} == {template.BUCKET, template.PREFIX}
    assert not {name for name in buckets if name.startswith("cdk-")}
    assert run.client("ssm").describe_parameters()["Parameters"] == []


@pytest.fixture
def assembly(tmp_path: Path) -> Path:
    """A stack with a folder as an asset, which a function names."""
    folder = small.assembly(tmp_path)
    (folder / "asset.1").mkdir()
    for name in ("b.py", "a.py"):
        (folder / "asset.1" / name).write_text(f"# {name}\n" * 100)
    manifest = folder / f"{small.STACK}.assets.json"
    asset = {
        "source": {"path": "asset.1", "packaging": "zip"},
        "destinations": {"here": {"objectKey": "1.zip"}},
    }
    manifest.write_text(json.dumps({"files": {**json.loads(manifest.read_text())["files"], "1": asset}}))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_assembly_gives_the_same_bytes_at_another_time_and_place(tmp_path, assembly):
    write(Assembly.read(assembly), tmp_path / "one")
    copy = shutil.copytree(assembly, tmp_path / "copy")
    os.utime(copy / "asset.1" / "a.py", (1, 1))
    write(Assembly.read(copy), tmp_path / "two")

    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")
    assert files_of(tmp_path / "one").keys() == {
        "1.zip",
        "Fanin-small.assets.json",
        "Fanin-small.template.json",
    }


def test_it_replaces_what_it_wrote_and_nothing_else(tmp_path, assembly):
    out = tmp_path / "out"
    write(Assembly.read(assembly), out)
    other = Assembly("Fanin-other", {"Resources": {}}, ())
    write(other, out)

    assert files_of(out).keys() == {"Fanin-other.assets.json", "Fanin-other.template.json"}
    (out / "notes.txt").touch()
    with pytest.raises(LocalRunError, match=r"notes\.txt, which fanin template did not write"):
        write(other, out)
    (out / "notes.txt").unlink()
    manifest = out / "Fanin-other.assets.json"
    manifest.write_text(manifest.read_text().replace(template.WRITER, "another program"))
    with pytest.raises(LocalRunError, match=r"which fanin template did not write"):
        write(other, out)
