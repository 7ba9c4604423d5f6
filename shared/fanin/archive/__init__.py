"""What happened to the tables, kept as files: each delivery of a table's stream is one object."""

from fanin.archive.changes import KINDS, WITHHELD
from fanin.archive.service import Archive, Files

__all__ = ["KINDS", "WITHHELD", "Archive", "Files"]
