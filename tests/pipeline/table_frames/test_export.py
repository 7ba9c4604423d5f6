"""An export is read as DynamoDB writes it, and refused where it is not whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pipeline.table_frames import export
from pipeline.table_frames.export import DataFile, NotAnExport
from tests.pipeline.exporting import rows_of, write_export
from tests.pipeline.worlds import closed


@pytest.fixture
def rows():
    return rows_of(closed().store)


def items(root: str, about: str | None = None) -> list:
    return [line.item for file in export.describe(root).files for line in export.lines(file, about)]


def by_key(rows) -> list:
    return sorted(rows, key=lambda row: (row["pk"]["S"], row.get("sk", {}).get("S", "")))


def test_every_row_comes_back_as_it_was_stored(tmp_path, rows):
    assert by_key(items(write_export(tmp_path, rows, files=3))) == by_key(rows)


def test_only_the_rows_about_one_batch_are_read(tmp_path):
    one, other = closed(), closed()
    root = write_export(tmp_path, [*rows_of(one.store), *rows_of(other.store)])

    assert by_key(items(root, one.key.batch_id)) == by_key(rows_of(one.store))


def test_a_line_that_is_no_row_is_named_with_its_location(tmp_path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(
        gzip.compress(b'{"Item":{"pk":{"S":"a"}}}\n{"Item":\n{"Items":{}}\n{"Item":{"salt":{"B":"?"}}}\n')
    )

    found = list(export.lines(DataFile(str(path), 4)))

    assert [line.location.removeprefix(str(path)) for line in found] == [":1", ":2", ":3", ":4"]
    assert [line.problem is None for line in found] == [True, False, False, False]


@pytest.mark.parametrize("about", [None, "something"])
def test_a_file_that_lacks_rows_is_named(tmp_path, rows, about):
    found = export.describe(write_export(tmp_path, rows, files=1)).files[0]
    packed = Path(found.path)
    packed.write_bytes(gzip.compress(b"".join(gzip.decompress(packed.read_bytes()).splitlines(True)[:-2])))

    *_, last = export.lines(found, about)

    assert (last.location, last.item) == (found.path, None)
    assert f"it holds {len(rows) - 2} rows; the export's manifest says {len(rows)}" in last.problem


def test_a_file_that_is_cut_off_stops_the_job(tmp_path, rows):
    found = export.describe(write_export(tmp_path, rows, files=1)).files[0]
    packed = Path(found.path)
    packed.write_bytes(packed.read_bytes()[:-20])

    with pytest.raises(OSError, match="Truncated"):
        list(export.lines(found))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"outputFormat": "ION"}, "is ION FULL_EXPORT; expected a full export in the format DYNAMODB_JSON"),
        ({"exportType": "INCREMENTAL_EXPORT"}, "is DYNAMODB_JSON INCREMENTAL_EXPORT"),
        ({"itemCount": 3}, "manifest-summary.json 3"),
        ({"exportTime": None}, "its manifests lack"),
    ],
)
def test_another_kind_of_export_is_refused(tmp_path, rows, more, message):
    with pytest.raises(NotAnExport, match=message):
        export.describe(write_export(tmp_path, rows, **more))


def test_an_export_from_before_there_were_incremental_ones_is_a_full_one(tmp_path, rows):
    assert len(items(write_export(tmp_path, rows, exportType=None))) == len(rows)


@pytest.mark.parametrize("name", ["manifest-summary.json", "manifest-files.json"])
def test_an_export_under_way_is_refused(tmp_path, rows, name):
    root = write_export(tmp_path, rows)
    (Path(root) / name).unlink()

    with pytest.raises(NotAnExport, match=f"{name} cannot be read"):
        export.describe(root)
