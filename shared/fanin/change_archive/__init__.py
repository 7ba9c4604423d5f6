"""The archive: the changes of the tables as files, one object for each delivery of a table's stream.

The promise: each change of a row is in at least one file, under its table and hour, without secrets and
payloads (``WITHHELD``). A repeated delivery overwrites its file, or has other files with the same event ids.

Read in this order: ``changes.py``: lines and names. ``service.py``: a delivery becomes a file. ``s3.py``: the
bucket. ``pipeline/history_tables`` reads it.
"""

from fanin.change_archive.changes import KINDS, WITHHELD
from fanin.change_archive.service import Archive, Files

__all__ = ["KINDS", "WITHHELD", "Archive", "Files"]
