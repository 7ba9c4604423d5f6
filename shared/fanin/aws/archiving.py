"""The part of the process environment that is the archive's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fanin.aws.settings import needed, texts_by_name

TABLES = "a JSON object of kinds of rows and tables' names"


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    """What the archive's function is told.

    ``FANIN_ARCHIVE_BUCKET``: the bucket. ``FANIN_ARCHIVE_TABLES``: JSON, the name of the table that holds
    each kind of row (``pages``, ``batches``, ...).
    """

    bucket: str
    tables: Mapping[str, str]

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> ArchiveSettings:
        """Read *env* (the process environment by default); a missing name is an InvalidRequest."""
        env = os.environ if env is None else env
        told = {name: needed(env, name) for name in ("FANIN_ARCHIVE_BUCKET", "FANIN_ARCHIVE_TABLES")}
        return cls(told["FANIN_ARCHIVE_BUCKET"], texts_by_name(told, "FANIN_ARCHIVE_TABLES", TABLES))
