"""The JSON of the HTTP contract, version 1: request bodies, answers, and problem documents as errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fanin.client.http_bodies.codec import Document, reader, value_of, written
from fanin.client.items import Items
from fanin.client.model import (
    Cancelled,
    Closed,
    Deleted,
    Failures,
    Pairs,
    Publication,
    QueueDescription,
    Ranges,
    Status,
    Summaries,
)
from fanin.errors import (
    AccessDenied,
    BatchEnded,
    Conflict,
    FaninError,
    InvalidRequest,
    KeyReused,
    NewerSchema,
    NoTarget,
    NotFound,
    QuotaExceeded,
    StoreUnavailable,
    TooManyBatches,
    TooManyPages,
)
from fanin.names import camel
from fanin.tracker import Outcome, Sample, State, Verdict
from fanin.tracker.rules.options import OPTIONS

if TYPE_CHECKING:
    from fanin.client.transports.reports import AckReport, RangeVerdict
    from fanin.tracker import Ack, BatchFilter, BatchMap, OpenBatch
    from fanin.tracker.batch_changes.reopening import ReopenBatch

T = TypeVar("T")
OwnError = Callable[[str, Document, float], FaninError]
"""Returns the error of a problem: of its detail, its document, and the seconds of ``Retry-After``."""

CHECK_CREDENTIALS = "; check the credentials"
"""What the text of an AccessDenied ends with."""
MEANING: Mapping[int, type[FaninError]] = {
    404: NotFound,
    409: Conflict,
    422: KeyReused,
    429: StoreUnavailable,
}


def open_body(spec: OpenBatch) -> Document:
    """Return the body of open, without the options that have their defaults."""
    return _options({"mode": spec.mode} | _set_ones(spec))


def publication_body(order: Mapping[str, Any], spec: OpenBatch) -> Document:
    """Return the body of a publication: *order* without what is None, and the options of its batch."""
    given = {name: value for name, value in order.items() if value is not None}
    return {**given, **_options(_set_ones(spec))}


def reopen_body(request: ReopenBatch) -> Document:
    """Return the body of reopen, with the options that are given."""
    return {"items": str(request.items), **_options(request.options())}


def _set_ones(spec: OpenBatch) -> dict[str, Any]:
    """Return the options that do not have their defaults."""
    given = {name: getattr(spec, name) for name in OPTIONS}
    return {name: value for name, value in given.items() if value != OPTIONS[name].default}


def _options(given: Mapping[str, Any]) -> Document:
    return {OPTIONS[name].field: written(value) for name, value in given.items()}


def cancel_body(reason: str | None, children: bool) -> Document:
    """Return the body of cancel."""
    return ({} if reason is None else {"reason": reason}) | ({"children": True} if children else {})


def filter_query(wanted: BatchFilter) -> dict[str, str]:
    """Return the query parameters of a filter of batches."""
    from fanin.tracker.rules.filters import filter_of  # noqa: PLC0415  # few requests have a filter

    given = {camel(name): value for name, value in filter_of(wanted).items() if value is not None}
    return {name: str(written(value)) for name, value in given.items()}


def map_of(answer: Document) -> BatchMap:
    """Return the map of a batch."""
    counts, failed = tuple(answer["acked"]), tuple(map(bool, answer["failed"]))
    from fanin.tracker import BatchMap  # noqa: PLC0415  # few answers are one

    return BatchMap(answer["from"], answer["to"], answer["cellItems"], counts, failed, answer["exact"])


def result_links_of(answer: Document) -> tuple[list[tuple[str, int]], bool, Any]:
    """Return the links of a page of results, whether there are any yet, and the cursor of the next page.

    Beside each link is the position of the last item of its file.
    """
    links = [(file["url"], file["last"]) for file in answer.get("files", ())]
    return links, answer["ready"], answer.get("cursor")


def acks_body(acks: Sequence[Ack]) -> Document:
    """Return the body of ack: a list of ids if all are successes of one item, else ack entries."""
    if all(ack.size == 1 and ack.outcome is Outcome.SUCCESS and ack.result is None for ack in acks):
        return {"items": [item_id_of(ack) for ack in acks]}
    return {"acks": [_ack(ack) for ack in acks]}


def item_id_of(ack: Ack) -> str:
    """Return the item id of an ack of one item."""
    return f"{ack.batch_id}:{ack.group_id}:{ack.first}"


def _ack(ack: Ack) -> Document:
    entry: dict[str, Any] = {"itemId": item_id_of(ack)}
    if ack.size > 1:
        entry = {"batchId": ack.batch_id, "groupId": ack.group_id, "from": ack.first, "to": ack.last}
    if ack.outcome is Outcome.FAILURE:
        entry["outcome"] = ack.outcome
    if ack.result is not None:
        entry["result"] = json.loads(ack.result)
    return entry if ack.reason is None else {**entry, "reason": ack.reason}


def read(body: bytes, reader: Callable[[Document], T]) -> T:
    """Return the value that *reader* makes of an answer's *body*. Raises FaninError if it is malformed."""
    try:
        return reader(json.loads(body))
    except (ValueError, KeyError, TypeError, RecursionError, InvalidRequest) as error:
        raise FaninError("the answer is not one of fanin's API, version 1; check the URL") from error


def error_of(
    status: int, body: bytes, retry_after: float = 0.0, host: str = "the API", attempts: int = 1
) -> FaninError:
    """Return the error of an answer of *host* to the last of *attempts*, with the detail of its problem."""
    error = problem_error(status, _problem(body), retry_after)
    if type(error) is AccessDenied:
        error.args = (f"{host} refuses the request with status {status}: {error}{CHECK_CREDENTIALS}",)
    if type(error) is StoreUnavailable:
        error.args = (f"{host} answered with status {status} (attempts: {attempts}): {error}",)
    return error


def problem_error(status: int, problem: Document, retry_after: float = 0.0) -> FaninError:
    """Return the error of a problem document, which may be empty. *retry_after*: seconds, 0 for none."""
    detail = str(problem.get("detail") or problem.get("message") or f"the API answered with status {status}")
    if "detail" not in problem and (status in {404, 405} or 300 <= status < 400):
        # API Gateway's answer to an unknown route, or that of another server
        detail += ": this is no route of fanin's API; check the URL and its stage"
        return NotFound(detail) if status == 404 else FaninError(detail)
    own = OWN_ERRORS.get(str(problem.get("type")).removeprefix("urn:fanin:problem:"))
    if own is not None:
        return own(detail, problem, retry_after)
    meaning = MEANING.get(status)
    if meaning is not None:
        return meaning(detail)
    if 400 <= status < 500:
        kind = AccessDenied if status in {401, 403} else InvalidRequest
        return kind(detail, field=_field(problem))
    return StoreUnavailable(detail) if status >= 500 else FaninError(detail)


def _quota_exceeded(detail: str, problem: Document, retry_after: float) -> QuotaExceeded:
    quota = _member(problem, "quota")
    name, limit, used = str(quota.get("name", "")), int(quota.get("limit", 0)), int(quota.get("used", 0))
    after = math.ceil(retry_after) or None
    return QuotaExceeded(detail, quota=name, limit=limit, used=used, retry_after=after)


def _batch_ended(detail: str, problem: Document, _retry_after: float) -> BatchEnded:
    end = _member(problem, "batch")
    batch_id, state, result = (str(end.get(name, "")) for name in ("batchId", "state", "result"))
    return BatchEnded(detail, batch_id=batch_id, state=state, result=result, reason=end.get("reason"))


def _member(problem: Document, name: str) -> Document:
    """Return an object of the problem document; an empty one if it is missing."""
    found = problem.get(name)
    return found if isinstance(found, Mapping) else {}


def _invalid(kind: type[InvalidRequest]) -> OwnError:
    return lambda detail, problem, _: kind(detail, field=_field(problem))


OWN_ERRORS: Mapping[str, OwnError] = {
    "no-target": _invalid(NoTarget),
    "too-many-pages": _invalid(TooManyPages),
    "too-many-batches": _invalid(TooManyBatches),
    "quota-exceeded": _quota_exceeded,
    "batch-ended": _batch_ended,
    "newer-schema": lambda detail, *_: NewerSchema(detail),
}
"""How the problems are read whose error does not follow from their status, by the name of their type."""


def batch_id_of(answer: Document) -> str:
    return str(answer["batchId"])


def token_of(answer: Document) -> str:
    return str(answer["token"])


def event_id_of(answer: Document) -> str:
    return str(answer["eventId"])


def status_of(answer: Document) -> Status:
    return value_of(Status, {**answer, **answer["progress"]})


def state_of(answer: Document) -> State:
    return State(answer["state"])


def queue_of(answer: Document) -> QueueDescription:
    return value_of(QueueDescription, answer, name=answer["queue"])


summaries_of, closed_of, cancelled_of = reader(Summaries), reader(Closed), reader(Cancelled)
deleted_of, publication_of = reader(Deleted), reader(Publication)


def items_of(answer: Document) -> Items:
    (group,) = answer["groups"]
    return Items(answer["batchId"], group["id"], group["upto"])


def report_of(answer: Document) -> AckReport:
    from fanin.client.transports.reports import (  # noqa: PLC0415  # few commands ack
        AckReport,
        Completion,
        ItemVerdict,
    )

    items = [one for one in answer["results"] if "itemId" in one]
    ranges = [one for one in answer["results"] if "itemId" not in one]
    completed = (one for one in answer["completions"] if one["completedByYou"])
    return AckReport(
        tuple(map(reader(ItemVerdict), items)),
        tuple(map(reader(Completion), completed)),
        tuple(_range_verdict(one) for one in ranges),
    )


def ranges_of(batch_id: str, answer: Document) -> Ranges:
    return Ranges(_ranges(batch_id, answer), answer.get("cursor"))


def failures_of(batch_id: str, answer: Document) -> Failures:
    samples = tuple(map(reader(Sample), answer["samples"]))
    return Failures(_ranges(batch_id, answer), samples, answer.get("cursor"))


def pairs_of(batch_id: str, answer: Document) -> Pairs:
    origin = answer["originBatchId"]
    pairs = ((_items(origin, one["origin"]), _items(batch_id, one["item"])) for one in answer["pairs"])
    return Pairs(tuple(pairs), answer.get("cursor"))


def _range_verdict(answer: Document) -> RangeVerdict:
    from fanin.client.transports.reports import RangeVerdict  # noqa: PLC0415  # see report_of

    counts = {Verdict(verdict): count for verdict, count in answer["counts"].items()}
    return RangeVerdict(answer["batchId"], answer["groupId"], answer["from"], answer["to"], counts)


def _ranges(batch_id: str, answer: Document) -> tuple[Items, ...]:
    return tuple(_items(batch_id, one) for one in answer["ranges"])


def _items(batch_id: str, one: Document) -> Items:
    return Items.between(batch_id, one["groupId"], one["from"], one["to"])


def _problem(body: bytes) -> Document:
    """Return the problem document; empty if a proxy answered in another form."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _field(problem: Document) -> str | None:
    """Return the first field that the problem names, or None."""
    errors = problem.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    return str(first["field"]) if isinstance(first, dict) and "field" in first else None
