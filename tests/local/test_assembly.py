from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest

from fanin.local import LocalRunError, assembly
from fanin.local.assembly import Assembly, fingerprint, kept_assembly, zipped

CONTEXT = {"stage": "local", "demo": False}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The least of a source tree."""
    for name in (
        "infra/app.py",
        "functions/one.py",
        "shared/fanin/a.py",
        "shared/fanin/local/b.py",
        "cdk.json",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}")
    return tmp_path


@pytest.mark.parametrize("name", ["infra/app.py", "functions/one.py", "shared/fanin/a.py", "cdk.json"])
def test_a_change_of_what_is_deployed_asks_for_a_new_synthesis(tree, name):
    before = fingerprint(tree, CONTEXT)

    (tree / name).write_text("# changed")

    assert fingerprint(tree, CONTEXT) != before


def test_a_new_file_asks_for_a_new_synthesis(tree):
    before = fingerprint(tree, CONTEXT)

    (tree / "infra" / "more.py").touch()

    assert fingerprint(tree, CONTEXT) != before


def test_a_change_of_the_local_run_itself_does_not(tree):
    before = fingerprint(tree, CONTEXT)

    (tree / "shared/fanin/local/b.py").write_text("# changed")

    assert fingerprint(tree, CONTEXT) == before


def test_another_context_is_another_assembly(tree):
    assert fingerprint(tree, CONTEXT) != fingerprint(tree, {**CONTEXT, "demo": True})


def test_an_assembly_is_kept_for_its_own_sources_only(tree):
    kept = tree / "build" / "local" / fingerprint(tree, CONTEXT)
    kept.mkdir(parents=True)

    assert kept_assembly(tree, CONTEXT) == kept
    (tree / "infra/app.py").write_text("# changed")
    assert kept_assembly(tree, CONTEXT) is None


def test_a_new_assembly_is_kept_and_the_oldest_ones_go(tree):
    (tree / "infra/app.py").write_text("import os\nos.makedirs(os.environ['CDK_OUTDIR'])")
    folder = tree / "build" / "local"
    for age in range(assembly.KEPT):
        (folder / str(age)).mkdir(parents=True)
        os.utime(folder / str(age), (1000 - age, 1000 - age))

    made = assembly.synthesise(tree, CONTEXT)

    assert {path.name for path in folder.iterdir()} == {made.name, *map(str, range(assembly.KEPT - 1))}
    assert kept_assembly(tree, CONTEXT) == made


def test_a_folder_without_the_app_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(LocalRunError, match="--template-dir"):
        assembly.synthesise(tmp_path, CONTEXT)


def test_a_failing_app_is_quoted_and_leaves_no_draft(tree):
    (tree / "infra/app.py").write_text("raise SystemExit('the stage has no name')")

    with pytest.raises(LocalRunError, match="the stage has no name"):
        assembly.synthesise(tree, CONTEXT)

    assert not list((tree / "build" / "local").iterdir())


def test_an_assembly_knows_its_stack_and_where_its_assets_go(tmp_path):
    file = {"source": {"path": "code", "packaging": "zip"}, "destinations": {"here": {"objectKey": "k.zip"}}}
    (tmp_path / "S.assets.json").write_text(json.dumps({"files": {"h": file}}))
    (tmp_path / "S.template.json").write_text(json.dumps({"Resources": {}}))

    read = Assembly.read(tmp_path)

    assert (read.stack, read.template) == ("S", {"Resources": {}})
    assert [(asset.path, asset.key, asset.is_folder) for asset in read.assets] == [
        (tmp_path / "code", "k.zip", True)
    ]


def test_a_folder_that_is_no_assembly_is_refused(tmp_path):
    with pytest.raises(LocalRunError, match="cdk synth"):
        Assembly.read(tmp_path)


def test_a_zip_holds_the_folders_files_by_their_inner_paths(tmp_path):
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "one.py").write_text("x = 1")

    with zipfile.ZipFile(io.BytesIO(zipped(tmp_path))) as archive:
        assert archive.namelist() == ["functions/one.py"]
        assert archive.read("functions/one.py") == b"x = 1"
