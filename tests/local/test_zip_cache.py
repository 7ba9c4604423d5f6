from __future__ import annotations

import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from fanin.local.function_processes.zip_cache import LinkedFile, SharedZip, link_to, open_linked


@pytest.fixture
def zips(tmp_path, monkeypatch):
    """Makes a zip of one file, *text* being in it, and unpacks it into a folder by name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def unpack(name: str, text: str):
        packed, folder = tmp_path / f"{name}.zip", tmp_path / name
        folder.mkdir()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("package/module.py", text)
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


def test_a_zip_that_is_a_link_copies_nothing(tmp_path):
    assets, code, packed = (tmp_path / name for name in ("assets of ü", "code", "code.zip"))
    assets.mkdir()
    code.mkdir()
    packed.write_bytes(link_to(assets))

    with SharedZip(packed) as opened:
        opened.extractall(code)

    assert code.resolve() == assets.resolve()


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
