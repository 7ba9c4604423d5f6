from __future__ import annotations

import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from fanin.local.functions.unpacking import LinkedFile, SharedZip, open_linked, sharing


@pytest.fixture
def zips(tmp_path, monkeypatch):
    """Makes a zip of one file, *text* being in it, and unpacks it into a folder by name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def unpack(name: str, text: str):
        packed, folder = tmp_path / f"{name}.zip", tmp_path / name
        folder.mkdir()
        with zipfile.ZipFile(packed, "w") as made:
            made.writestr("package/module.py", text)
        with SharedZip(packed) as opened:
            opened.extractall(folder)
        return folder

    return unpack


def test_the_same_content_is_unpacked_once_and_seen_in_every_folder(zips):
    one, other = zips("one", "x = 1"), zips("other", "x = 1")

    assert one.resolve() == other.resolve() != one
    assert (other / "package" / "module.py").read_text() == "x = 1"


def test_another_content_of_the_same_names_is_another_folder(zips):
    one, other = zips("one", "x = 1"), zips("other", "x = 2")

    assert one.resolve() != other.resolve()
    assert (other / "package" / "module.py").read_text() == "x = 2"


def test_many_at_once_find_the_content_whole(zips):
    with ThreadPoolExecutor(8) as workers:
        folders = list(workers.map(lambda n: zips(str(n), "x = 1"), range(32)))

    assert {(folder / "package" / "module.py").read_text() for folder in folders} == {"x = 1"}
    assert len({folder.resolve() for folder in folders}) == 1


def test_a_part_is_taken_out_as_ever(zips, tmp_path):
    zips("one", "x = 1")
    (tmp_path / "part").mkdir()

    with SharedZip(tmp_path / "one.zip") as opened:
        opened.extractall(tmp_path / "part", members=["package/module.py"])

    assert not (tmp_path / "part").is_symlink()


def test_all_else_of_the_module_is_as_it_was():
    changed = {name for name, value in vars(sharing()).items() if getattr(zipfile, name) is not value}

    assert changed == {"ZipFile"}


def test_the_names_of_a_content_are_there_to_be_checked_until_it_is_unpacked(zips, tmp_path):
    with zipfile.ZipFile(tmp_path / "new.zip", "w") as made:
        made.writestr("../module.py", "x = 1")
    with SharedZip(tmp_path / "new.zip") as opened:
        assert opened.namelist() == ["../module.py"]
    zips("one", "x = 1")
    with SharedZip(tmp_path / "one.zip") as opened:
        assert opened.namelist() == []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where files are written, and an empty memory of what was."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(LinkedFile, "_written", {})
    return tmp_path


def written(path, content) -> int:
    with open_linked(str(path), "wb") as file:
        assert file.write(content) == len(content)
    return path.stat().st_ino


def test_the_same_bytes_are_written_once_and_equal_ones_of_another_object_by_themselves(folder):
    zipped, others = b"zipped", bytes([*b"zipped"])
    one, same = (written(folder / f"{name}.zip", zipped) for name in "ab")
    other = written(folder / "c.zip", others)

    assert one == same != other
    assert {(folder / f"{name}.zip").read_bytes() for name in "abc"} == {b"zipped"}


def test_a_file_that_was_removed_meanwhile_is_written_again(folder):
    zipped = b"zipped"
    written(folder / "a.zip", zipped)
    for path in folder.iterdir():
        path.unlink()

    written(folder / "b.zip", zipped)
    assert (folder / "b.zip").read_bytes() == zipped


def test_other_files_are_opened_as_ever(folder):
    with open_linked(str(folder / "a.py"), "w") as file:
        file.write("x = 1")
    with open_linked(str(folder / "a.py")) as file:
        assert file.read() == "x = 1"
