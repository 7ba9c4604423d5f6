"""Spans of OpenTelemetry for a fan-out, in a program that has set a tracer provider; in any other, nothing.

The only module that knows OpenTelemetry. A program with a tracer provider has imported OpenTelemetry itself,
so this module imports it only then. An exception of a provider, a processor or an exporter is logged, once
for each type, and changes no work.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from fanin.isolating import Record
from fanin.tracker import Ack
from fanin.user_functions import own_text

if TYPE_CHECKING:
    from opentelemetry.trace import Link, Span, Tracer, TracerProvider
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

logger = logging.getLogger("fanin")

Carried = tuple[tuple[str, str], ...]
"""The names and the texts of a trace context, as a message carries them: ``traceparent``, ``tracestate``."""
Facts = Mapping[str, str | int]
"""Attributes of a span by their names, which are those of OpenTelemetry's messaging conventions."""
CARRIED = ("traceparent", "tracestate")
TEXT = re.compile("[ -~]{1,512}")
"""What the text of a message's attribute has to be, before it is parsed as a part of a trace context."""
OPERATIONS = {"send": ("send", "PRODUCER"), "process": ("process", "CONSUMER"), "ack": ("settle", "CLIENT")}
"""By the name of an operation its type, and the kind of its span."""


class Traced:
    """A block of work without a span. *carried*: the trace context of the messages that it sends."""

    @property
    def carried(self) -> Carried:
        return ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the span; an exception is noted, and propagates."""

    def note(self, facts: Facts) -> None:
        """Note attributes."""

    def fail(self, kind: str, text: str) -> None:
        """Note that the work failed, by a *kind* of error of which there are few."""

    def note_failure(self, error: BaseException, item_id: str | None = None) -> None:
        """Note an exception in the work, of an item."""


class _Harmless:
    """Logs an exception of its block, and swallows it."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            _warn(type(error).__name__)
        return isinstance(error, Exception)


@cache
def _warn(error: str) -> None:
    logger.warning("OpenTelemetry raised %s; the work goes on, without some of its spans", error)


OFF, HARMLESS = Traced(), _Harmless()
_current: ContextVar[Traced] = ContextVar("fanin_traced", default=OFF)


class _Recorded(Traced):
    """A block of work whose span is the current one of OpenTelemetry."""

    def __init__(self, span: Span) -> None:
        from opentelemetry import context, trace  # noqa: PLC0415  # see the head of this file

        self._span, self._context = span, context
        self._inner = trace.set_span_in_context(span)

    @property
    def carried(self) -> Carried:
        return _carried_of(self._inner)

    def __enter__(self) -> Self:
        self._outer = _current.set(self)
        with HARMLESS:
            self._attached = self._context.attach(self._inner)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with HARMLESS:
            _current.reset(self._outer)
            self._context.detach(self._attached)
        if isinstance(error, Exception):
            self.note_failure(error)
        with HARMLESS:
            self._span.end()

    def note(self, facts: Facts) -> None:
        with HARMLESS:
            self._span.set_attributes(facts)

    def fail(self, kind: str, text: str) -> None:
        with HARMLESS:
            from opentelemetry.trace import StatusCode  # noqa: PLC0415  # see the docstring of the module

            self._span.set_attribute("error.type", kind)
            self._span.set_status(StatusCode.ERROR, text)

    def note_failure(self, error: BaseException, item_id: str | None = None) -> None:
        kind = type(error)
        room = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        self.fail(f"{room}{kind.__qualname__}", own_text(error))
        with HARMLESS:
            self._span.record_exception(error, {"fanin.item": item_id} if item_id else None)


def sending(queue_url: str) -> Traced:
    """Return the block that sends messages to a queue, which carry the context of its span."""
    tracer = _tracer()
    return OFF if tracer is None else _started(tracer, "send", queue_url.rpartition("/")[2], (), {})


def delivering(records: Sequence[Record]) -> Traced:
    """Return the block that processes a delivery; its span links to those that the messages carry."""
    return _of_records("process", records)


def processing(record: Record) -> Traced:
    """Return the block that works on one message; its span links to the one that the message carries."""
    return _of_records("process", [record])


def acking(records: Sequence[Record]) -> Traced:
    """Return the block that acks the items of messages."""
    return _of_records("ack", records)


def note_items(ack: Ack) -> None:
    """Note which items the message under work names."""
    if (here := _current.get()) is not OFF:
        item = f"{ack.batch_id}:{ack.group_id}:{ack.first}"
        items = {"fanin.item": item} if ack.size == 1 else {"fanin.items": f"{item}-{ack.last}"}
        here.note({"fanin.batch_id": ack.batch_id, **items})


def note_failure(error: BaseException, item_id: str) -> None:
    """Note what the function raised for an item of the message under work."""
    _current.get().note_failure(error, item_id)


class OfATrace(Protocol):
    """A batch, or a request for one."""

    @property
    def traceparent(self) -> str | None: ...


def carried_of(batch: OfATrace) -> Carried:
    """Return the trace context of *batch*: none without one."""
    return trace_context(batch.traceparent)


def trace_context(traceparent: str | None) -> Carried:
    """Return the trace context that has this text: none without one."""
    return () if traceparent is None else (("traceparent", traceparent),)


def traceparent() -> str | None:
    """Return the ``traceparent`` of the span in which this code runs; None without one."""
    return None if _tracer() is None else dict(_carried_of(None)).get("traceparent")


def _tracer() -> Tracer | None:
    """Return the tracer of the provider that the program has set; None if it has set none."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    with HARMLESS:
        from opentelemetry import trace  # noqa: PLC0415  # see the docstring of the module

        provider = trace.get_tracer_provider()
        if not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
            return _tracer_of(provider)
    return None


@lru_cache(maxsize=1)
def _tracer_of(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("fanin")


def _of_records(operation: str, records: Sequence[Record]) -> Traced:
    tracer = _tracer() if records else None
    if tracer is None:
        return OFF
    queue = str(records[0].get("eventSourceARN") or "").rpartition(":")[2]
    facts: Facts = {"messaging.batch.message_count": len(records)}
    if len(records) == 1:
        facts = {"messaging.message.id": records[0]["messageId"]}
    return _started(tracer, operation, queue, records, facts)


def _started(tracer: Tracer, operation: str, queue: str, records: Sequence[Record], facts: Facts) -> Traced:
    """Return the block of an *operation* on a *queue*, whose span begins now; ``OFF`` if that raises."""
    of_type, kind = OPERATIONS[operation]
    known = {
        "messaging.system": "aws_sqs",
        "messaging.operation.type": of_type,
        "messaging.operation.name": operation,
        **({"messaging.destination.name": queue} if queue else {}),
        **facts,
    }
    with HARMLESS:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415  # see the docstring of the module

        name = f"{operation} {queue}".rstrip()
        return _Recorded(
            tracer.start_span(name, kind=SpanKind[kind], attributes=known, links=_links(records))
        )
    return OFF


def _links(records: Sequence[Record]) -> list[Link]:
    """Return a link to each span whose context messages carry; the SDK drops what is no such context."""
    from opentelemetry.trace import Link, get_current_span  # noqa: PLC0415  # see the docstring of the module

    carried = dict.fromkeys(tuple((name, _text(record, name)) for name in CARRIED) for record in records)
    contexts = [_propagator().extract(dict(each)) for each in carried if each[0][1]]
    return [Link(get_current_span(context).get_span_context()) for context in contexts]


def _text(record: Record, name: str) -> str:
    """Return the text of a message's attribute; an empty one for what cannot be a part of a context."""
    attributes = record.get("messageAttributes")
    attribute = attributes.get(name) if isinstance(attributes, Mapping) else None
    text = attribute.get("stringValue") if isinstance(attribute, Mapping) else None
    return text if isinstance(text, str) and TEXT.fullmatch(text) else ""


def _carried_of(context: Any) -> Carried:
    """Return what a message carries of the span of *context*; None: of the current one."""
    from opentelemetry.trace import get_current_span  # noqa: PLC0415  # see the docstring of the module

    carrier: dict[str, str] = {}
    with HARMLESS:
        if get_current_span(context).get_span_context().is_valid:
            _propagator().inject(carrier, context)
    return tuple((name, carrier[name]) for name in CARRIED if name in carrier)


@cache
def _propagator() -> TraceContextTextMapPropagator:
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415  # see the docstring of the module
        TraceContextTextMapPropagator,
    )

    return TraceContextTextMapPropagator()
