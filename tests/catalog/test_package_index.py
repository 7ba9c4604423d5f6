from __future__ import annotations

import bz2
import hashlib
import json
from pathlib import Path

from examples.catalog import package_index
from pipeline.shared_by_jobs import datasets

INDEX = """Package: zeta
Version: 1.0-1
Maintainer: Ada Lovelace <ada@example.org>
Depends: libc6 (>= 2.34), alpha | beta
Description: the last
Tag: one,
 two
Section: math
Size: 880

Package: alpha
Version: 2:1.0
Maintainer: A Team
Section: games
Size: 42
"""


def unpacked(path: Path) -> list[dict[str, str | int]]:
    return [json.loads(line) for line in bz2.decompress(path.read_bytes()).splitlines()]


def test_a_package_becomes_a_record_without_the_mail_address_in_an_order_of_its_own():
    first, last = package_index.catalog(INDEX)
    swapped = package_index.catalog("\n\n".join(reversed(INDEX.strip().split("\n\n"))))

    assert last == {
        "name": "zeta",
        "version": "1.0-1",
        "section": "math",
        "maintainer": "Ada Lovelace",
        "size": 880,
        "depends": "libc6 (>= 2.34), alpha | beta",
    }
    assert (first["name"], first["version"], first["depends"]) == ("alpha", "2:1.0", "")
    assert package_index.packed([first, last]) == package_index.packed(swapped)


def test_the_bundled_catalog_is_what_its_notice_says():
    notice = (datasets.DATA / "NOTICE.md").read_text()
    digests = [
        hashlib.sha256(path.read_bytes()).hexdigest() for path in (datasets.CATALOG, datasets.CATALOG_SLICE)
    ]

    assert all(digest in notice for digest in digests)


def test_name_and_version_distinguish_the_packages_of_the_catalog():
    records = unpacked(datasets.CATALOG)

    assert len({(r["name"], r["version"]) for r in records}) == len(records) == 63_440


def test_the_bundled_bytes_are_what_the_script_makes_of_their_records():
    records = unpacked(datasets.CATALOG_SLICE)

    assert package_index.packed(records) == datasets.CATALOG_SLICE.read_bytes()
