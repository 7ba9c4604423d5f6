"""The archive: the changes of the tables as files, one object for each delivery of a table's stream."""

from fanin.change_archive.changes import KINDS, WITHHELD
from fanin.change_archive.service import Archive, Files

__all__ = ["KINDS", "WITHHELD", "Archive", "Files"]
