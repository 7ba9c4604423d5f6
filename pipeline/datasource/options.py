"""The options of the data source, read strictly.

| option | meaning |
|---|---|
| `tenant` | whose batches: the first part of every key (the account's id where callers sign with IAM) |
| `batchesTable`, `pagesTable` | the tracker's tables |
| `region`, `endpointUrl` | where they are; the executors' own environment says so where they are left out |
| `batchId` | reading: of which batch |
| `items` | reading: `outstanding` (the default), `failed` or `all` |
| `refused` | writing: `fail` (the default) where an id is not the tenant's, or `skip` |
| `rate` | writing: write units a second of each task |
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fanin.tracker import checked_batch_id
from pipeline.marking import Target
from pipeline.tables import Tables

ACCESS = ("tenant", "batchesTable", "pagesTable", "region", "endpointUrl")
SPARKS = ("path", "checkpointLocation", "queryName")
"""Options that Spark itself puts beside ours."""


E = TypeVar("E", bound=StrEnum)


class WrongOption(ValueError):
    """An option is missing, unknown, or has a value that it does not take; the message says which."""


class Items(StrEnum):
    """Which items of a batch are read."""

    OUTSTANDING = "outstanding"
    FAILED = "failed"
    ALL = "all"


class Refused(StrEnum):
    """What becomes of a write with ids that name no item of the tenant's."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Access:
    """Whose batches, and where they are stored."""

    tenant: str
    tables: Tables

    @classmethod
    def of(cls, options: Mapping[str, str], others: Iterable[str] = ()) -> Access:
        """What *options* say; *others* are those that go beside these. Raises WrongOption."""
        known = {name.lower() for name in (*ACCESS, *SPARKS, *others)}
        strange = sorted(name for name in options if name.lower() not in known)
        if strange:
            raise WrongOption(f"there is no option {', '.join(strange)} here; there are {', '.join(ACCESS)}")
        missing = [name for name in ACCESS[:3] if not options.get(name)]
        if missing:
            raise WrongOption(f"option {', '.join(missing)} is needed")
        region, endpoint = options.get("region"), options.get("endpointUrl")
        return cls(
            options["tenant"], Tables(options["batchesTable"], options["pagesTable"], region, endpoint)
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """Which items of which batch."""

    access: Access
    batch_id: str
    items: Items

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Reading:
        """What *options* say. Raises WrongOption, and InvalidRequest where ``batchId`` is none."""
        access = Access.of(options, ("batchId", "items"))
        if "batchId" not in options:
            raise WrongOption("option batchId is needed: whose items? Batch events come by readStream")
        items = _one_of(Items, "items", options.get("items", Items.OUTSTANDING))
        return cls(access, checked_batch_id(options["batchId"]), items)


@dataclass(frozen=True, slots=True)
class Writing:
    """In whose name acks are written, and what becomes of ids that are not theirs."""

    target: Target
    refused: Refused

    @classmethod
    def of(cls, options: Mapping[str, str], overwrite: bool) -> Writing:
        """What *options* say; a run of its own. Raises WrongOption."""
        if overwrite:
            raise WrongOption('an ack is for good: write with mode("append")')
        access = Access.of(options, ("refused", "rate"))
        refused = _one_of(Refused, "refused", options.get("refused", Refused.FAIL))
        caller = f"data-source:{uuid.uuid4()}"
        return cls(Target(access.tables, access.tenant, caller, _rate(options.get("rate"))), refused)


def _one_of(kind: type[E], name: str, value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        raise WrongOption(f"option {name} takes {', '.join(kind)}, not {value!r}") from None


def _rate(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise WrongOption(f"option rate takes write units a second, above 0, not {text!r}")
    return rate
