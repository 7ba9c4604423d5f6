"""Settings of the archive, from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fanin.settings.tracking import needed, texts_by_name

TABLES = "a JSON object: a kind of rows to the name of its table"


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """Settings of the archive's function.

    ``FANIN_ARCHIVE_BUCKET``: the bucket. ``FANIN_ARCHIVE_TABLES``: JSON, the name of the table that holds
    each kind of row (``pages``, ``batches``, ...).
    """

    bucket: str
    tables: Mapping[str, str]

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> ArchiveSettings:
        """Read *env*, by default the process environment. Raises InvalidRequest for a missing name."""
        env = os.environ if env is None else env
        given = {name: needed(env, name) for name in ("FANIN_ARCHIVE_BUCKET", "FANIN_ARCHIVE_TABLES")}
        return cls(given["FANIN_ARCHIVE_BUCKET"], texts_by_name(given, "FANIN_ARCHIVE_TABLES", TABLES))
