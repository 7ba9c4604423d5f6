"""Lists of jobs, their depth and their status: bounded pages and counts, whatever disappears meanwhile."""

from __future__ import annotations

from fanin.queue.rules.model import PartLook

UNKNOWN, EMPTY = PartLook((), (), complete=False), PartLook((), (), complete=True)
