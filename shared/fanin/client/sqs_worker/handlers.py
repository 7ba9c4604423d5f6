"""The consumer that does a worker's work: of a handler of ``@fanin.acks``, or of a function of the user."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypedDict

from fanin.arguments import Seconds, flag, kind_of, seconds_of, whole
from fanin.client.argument_checks.checking import options_given
from fanin.client.consuming.chunk_consumer import EachConsumer
from fanin.client.consuming.consumer import Consumer
from fanin.client.consuming.settling import Outcomes
from fanin.client.transports.transport import Acks
from fanin.errors import InvalidRequest
from fanin.isolating import Record
from fanin.types import Returned
from fanin.user_functions import synchronous

WRAPPED = (
    "the handler is a function around a handler of @fanin.acks: pass the handler itself, and decorate the"
    " function that it calls"
)
CONCURRENCY_MAX = 10_000
VISIBILITY_MIN, VISIBILITY_MAX = 5, 12 * 3600
OPTIONS_OF_HANDLER = "{} is an option of @fanin.acks here: give it where the handler is decorated"


class WorkOptions(TypedDict, total=False):
    """The options of a worker; from *each* on, those of ``@fanin.acks``, for a function without it.

    *concurrency*: messages under work at once: 10 threads by default, or 100 tasks of a coroutine function.
    *visibility*: seconds for which a message is hidden at a time; by default the timeout of the queue.
    *grace_seconds*: how long a stop takes at most, 20 by default. *stop*: stops the worker when it is set, as
    SIGTERM and SIGINT do. *each*: messages are chunks, and the function is called for each item.
    """

    concurrency: int
    visibility: int | timedelta
    grace_seconds: Seconds
    stop: threading.Event
    each: bool
    fail_after: int | None
    skip_done: bool
    item_id: Callable[[Record], str] | None
    on_acked: Callable[[Outcomes], Returned] | None
    results: bool


OF_FUNCTIONS = ("fail_after", "skip_done", "item_id", "on_acked", "results")
OF_ITEMS = {"fail_after", "results"}


def consumer_of(handler: Callable[..., object], transport: Acks, options: WorkOptions) -> Consumer:
    """Return the consumer of *handler*, or a new one over *transport*.

    Raises InvalidRequest, and TypeError for an unknown option.
    """
    _check_options(options)
    each = flag(options.get("each", False), "each")
    given = {name: value for name, value in options.items() if name in OF_FUNCTIONS and value}
    consumer = _decorated(handler, [*given, *(["each"] if each else [])])
    if consumer is not None:
        return consumer
    options_given(given.get("item_id"), given.get("on_acked"), 0, options.get("fail_after"))
    in_tasks = _checked(handler)
    if not each:
        return Consumer(transport, handler, in_tasks=in_tasks, **given)  # type: ignore[arg-type]
    if refused := given.keys() - OF_ITEMS:
        raise InvalidRequest(f"{min(refused)} is no option with each=True: leave it out", field=min(refused))
    return EachConsumer(transport, work=handler, in_tasks=in_tasks, **given)  # type: ignore[arg-type]


def _check_options(options: WorkOptions) -> None:
    """Raise InvalidRequest for a value of the wrong type, TypeError for a name that is no option."""
    known = WorkOptions.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(f"work has no option {name}; it has {', '.join(known)}")
    whole(options.get("concurrency", 1), "concurrency", 1, CONCURRENCY_MAX)
    hidden_seconds(options.get("visibility", VISIBILITY_MIN))
    seconds_of(options.get("grace_seconds", 0), "grace_seconds")
    flag(options.get("skip_done", False), "skip_done")
    flag(options.get("results", False), "results")
    if "stop" in options and not isinstance(options["stop"], threading.Event):
        raise InvalidRequest(f"stop is a threading.Event, not {kind_of(options['stop'])}", field="stop")


def hidden_seconds(visibility: Any) -> int:
    """Return the time for which a message is hidden, a number or a timedelta, in whole seconds."""
    if isinstance(visibility, timedelta) and not visibility.total_seconds() % 1:
        visibility = int(visibility.total_seconds())
    return whole(visibility, "visibility", VISIBILITY_MIN, VISIBILITY_MAX)


def _decorated(handler: Callable[..., object], given: Sequence[str]) -> Consumer | None:
    """Return the consumer of a handler of ``@fanin.acks``; None of any other function."""
    found: tuple[Any, Consumer] | None = getattr(handler, "__fanin_consumer__", None)
    if found is None:
        return None
    if found[0]() is not handler:
        raise InvalidRequest(WRAPPED, field="handler")
    for name in given:
        raise InvalidRequest(OPTIONS_OF_HANDLER.format(name), field=name)
    return found[1]


def _checked(handler: Callable[..., object]) -> bool:
    """Return whether *handler* is a coroutine function. Raises InvalidRequest unless it takes a record."""
    if not callable(handler):
        raise InvalidRequest(f"the handler is a function, not {handler!r}", field="handler")
    try:
        inspect.signature(handler).bind(None)
    except TypeError as error:
        why = f"the handler is called with one argument, a record: {error}; of a function of an event and a"
        raise InvalidRequest(
            f"{why} context, only a handler of @fanin.acks can work", field="handler"
        ) from None
    except ValueError:  # a function of C, whose signature is not known
        return False
    in_tasks = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(type(handler), "__call__", None)  # noqa: B004  # the method itself
    )
    if not in_tasks:
        synchronous(handler, "handler")
    return in_tasks
