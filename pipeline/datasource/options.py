"""Parses the options of the data source strictly.

| option | meaning |
|---|---|
| `tenant` | the tenant of the batches, the first part of every key (with IAM: the account's id) |
| `batchesTable`, `pagesTable` | the tracker's tables |
| `region`, `endpointUrl` | of the tables; default: the executors' environment |
| `batchId` | reading: the batch |
| `what` | reading: `items` (the default), or `results` of an ended batch |
| `items` | reading items: `outstanding` (the default), `failed` or `all` |
| `pushDownPredicate` | reading items: `true` if filters on the position and the state limit what is read |
| `resultsBucket` | reading results: the bucket, the stack's output `ResultsBucket` |
| `resultsEndpointUrl` | of the bucket; default: the executors' environment |
| `refused` | writing: `fail` (the default) if an id is not the tenant's, or `skip` |
| `rate` | writing: write units a second of each task |
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from fanin.tracker import checked_batch_id
from pipeline.bulk_ack.write import Target
from pipeline.datasource.filters import STATES
from pipeline.table_frames.tables import Tables

ACCESS = ("tenant", "batchesTable", "pagesTable", "region", "endpointUrl")
SPARKS = ("path", "checkpointLocation", "queryName")
"""Options that Spark itself adds."""
PUSH_DOWN = "pushDownPredicate"


E = TypeVar("E", bound=StrEnum)


class WrongOption(ValueError):
    """An option is missing or unknown, or its value is invalid; the message names it."""


class What(StrEnum):
    """What of a batch is read."""

    ITEMS = "items"
    RESULTS = "results"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> What:
        """Return what *options* ask for. Raises WrongOption."""
        return _one_of(cls, "what", options.get("what", cls.ITEMS))


class Flag(StrEnum):
    """A value that is on or off."""

    TRUE = "true"
    FALSE = "false"


class Items(StrEnum):
    """The items of a batch that are read."""

    OUTSTANDING = "outstanding"
    FAILED = "failed"
    ALL = "all"

    @property
    def states(self) -> frozenset[str]:
        """Return the states of these items."""
        return frozenset(STATES if self is Items.ALL else (self,))


class Refused(StrEnum):
    """What happens to a write with ids that are not items of the tenant."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Access:
    """The tenant, and the tables of its batches."""

    tenant: str
    tables: Tables

    @classmethod
    def of(cls, options: Mapping[str, str], others: Iterable[str] = ()) -> Access:
        """Parse *options*; *others* are the names of further valid options. Raises WrongOption."""
        known = {name.lower() for name in (*ACCESS, *SPARKS, *others)}
        strange = sorted(name for name in options if name.lower() not in known)
        if strange:
            raise WrongOption(f"there is no option {', '.join(strange)} here; there are {', '.join(ACCESS)}")
        missing = [name for name in ACCESS[:3] if not options.get(name)]
        if missing:
            raise WrongOption(f"option {', '.join(missing)} is required")
        region, endpoint = options.get("region"), options.get("endpointUrl")
        return cls(
            options["tenant"], Tables(options["batchesTable"], options["pagesTable"], region, endpoint)
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """The batch to read, and which of its items. *push_down*: fewer of them by the filters of the query."""

    access: Access
    batch_id: str
    items: Items
    push_down: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Reading:
        """Parse *options*. Raises WrongOption, and InvalidRequest for a malformed ``batchId``."""
        access = Access.of(options, ("batchId", "what", "items", PUSH_DOWN))
        items = _one_of(Items, "items", options.get("items", Items.OUTSTANDING))
        push_down = _one_of(Flag, PUSH_DOWN, options.get(PUSH_DOWN, Flag.FALSE).lower())
        return cls(access, _batch_id(options), items, push_down is Flag.TRUE)


@dataclass(frozen=True, slots=True)
class ReadingResults:
    """The batch whose results are read, and their bucket."""

    access: Access
    batch_id: str
    bucket: str
    endpoint: str | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadingResults:
        """Parse *options*. Raises WrongOption, and InvalidRequest for a malformed ``batchId``."""
        access = Access.of(options, ("batchId", "what", "resultsBucket", "resultsEndpointUrl"))
        if not options.get("resultsBucket"):
            raise WrongOption("option resultsBucket is required to read results: the output ResultsBucket")
        bucket, endpoint = options["resultsBucket"], options.get("resultsEndpointUrl")
        return cls(access, _batch_id(options), bucket, endpoint)


@dataclass(frozen=True, slots=True)
class Writing:
    """Where and as whom acks are written, and what happens to refused ids."""

    target: Target
    refused: Refused

    @classmethod
    def of(cls, options: Mapping[str, str], overwrite: bool) -> Writing:
        """Parse *options*, with a caller of its own for each write. Raises WrongOption."""
        if overwrite:
            raise WrongOption('acks cannot be overwritten: write with mode("append")')
        access = Access.of(options, ("refused", "rate"))
        refused = _one_of(Refused, "refused", options.get("refused", Refused.FAIL))
        caller = f"data-source:{uuid.uuid4()}"
        return cls(Target(access.tables, access.tenant, caller, _rate(options.get("rate"))), refused)


def _batch_id(options: Mapping[str, str]) -> str:
    if "batchId" not in options:
        raise WrongOption("option batchId is required to read items; readStream reads batch events")
    return checked_batch_id(options["batchId"])


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
