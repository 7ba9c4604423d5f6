"""A kernel is loaded where one was built of this source for this machine; nothing else is a kernel."""

from __future__ import annotations

import shutil
from pathlib import Path
from zipfile import Path as ZipFolder
from zipfile import ZipFile

import pytest

from pipeline.compiled_fold import building, loading
from pipeline.compiled_fold.loading import SOURCE, library_name, load, this_machine


@pytest.fixture
def folder(tmp_path) -> Path:
    shutil.copy(building.HERE / SOURCE, tmp_path)
    return tmp_path


def test_a_kernel_is_loaded_from_a_zip(kernel, tmp_path):
    library = Path(kernel._name)
    with ZipFile(tmp_path / "code.zip", "w") as archive:
        for path in (building.HERE / SOURCE, library):
            archive.write(path, f"room/{path.name}")

    assert load(ZipFolder(tmp_path / "code.zip", "room/")).fanin_fold


def test_a_kernel_of_another_source_or_machine_is_not_loaded_and_is_deleted_where_one_is_built(
    kernel, folder
):
    (built,) = (path for path in building.build(folder) if this_machine() in path.name)
    built.rename(folder / library_name("win32-x86", (folder / SOURCE).read_bytes()))
    assert load(folder) is None

    building.build(folder)
    (folder / SOURCE).write_bytes((folder / SOURCE).read_bytes() + b"\n")
    assert load(folder) is None

    assert {*building.build(folder)} == {*folder.glob("*.so")}
    assert load(folder)


def test_a_library_that_this_machine_cannot_run_is_not_loaded(folder):
    (folder / library_name(this_machine(), (folder / SOURCE).read_bytes())).write_bytes(b"\x7fELF")

    assert load(folder) is None


@pytest.mark.parametrize(
    ("commands", "printed"),
    [({}, "there is no C compiler"), ({"here": ("false",)}, "'false'"), ({"here": ("no-such",)}, "no-such")],
)
def test_without_a_compiler_that_works_numpy_folds_and_a_line_says_so(
    folder, commands, printed, capsys, monkeypatch
):
    monkeypatch.setattr(building, "compilers", lambda: commands)
    monkeypatch.setattr(building, "HERE", folder)

    building.main()

    lines = "".join(capsys.readouterr())
    assert printed in lines
    assert lines.startswith("bulk_ack folds by NumPy: ")
    assert (lines.count("\n"), loading.load(folder)) == (1, None)
