"""The written template: deployed by the session's run, from a bucket of its own and without a bootstrap."""

from __future__ import annotations

import filecmp
import os
from pathlib import Path

import pytest

from fanin import Fanin
from fanin.local import LocalRun, LocalRunError
from fanin.local.deploying import template
from fanin.local.deploying.assembly import Assembly, Asset
from fanin.local.deploying.template import write


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


def assembly(folder: Path, stack: str = "Fanin-small") -> Assembly:
    """A stack with *folder* as its asset."""
    folder.mkdir()
    for name in ("b.py", "a.py"):
        (folder / name).write_text(f"# {name}\n" * 100)
    return Assembly(stack, {"Resources": {}}, (Asset(folder, "1.zip", is_folder=True),))


def test_the_same_assembly_gives_the_same_bytes_at_another_time_and_place(tmp_path):
    write(assembly(tmp_path / "a"), tmp_path / "one")
    later = assembly(tmp_path / "b")
    os.utime(tmp_path / "b" / "a.py", (1, 1))
    write(later, tmp_path / "two")
    names = ["1.zip", "Fanin-small.assets.json", "Fanin-small.template.json"]

    assert sorted(os.listdir(tmp_path / "one")) == names
    assert filecmp.cmpfiles(tmp_path / "one", tmp_path / "two", names, shallow=False)[0] == names


def test_it_replaces_what_it_wrote_and_nothing_else(tmp_path):
    out = tmp_path / "out"
    write(assembly(tmp_path / "a"), out)
    other = assembly(tmp_path / "b", "Fanin-other")
    write(other, out)

    assert set(os.listdir(out)) == {"1.zip", "Fanin-other.assets.json", "Fanin-other.template.json"}
    (out / "notes.txt").touch()
    with pytest.raises(LocalRunError, match=r"notes\.txt, which fanin template did not write"):
        write(other, out)
    (out / "notes.txt").unlink()
    manifest = out / "Fanin-other.assets.json"
    manifest.write_text(manifest.read_text().replace(template.WRITER, "another program"))
    with pytest.raises(LocalRunError, match="which fanin template did not write"):
        write(other, out)
