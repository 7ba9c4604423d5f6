"""Calls of the client as plain data, and how each of the four kinds of clients carries one out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fanin.client.aio.batches import AsyncBatch
from fanin.client.batch import Batch
from fanin.errors import FaninError
from tests.agreement.worlds import World


class Boom(Exception):
    """What the block of a batch raises."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the method *name* of the client, or of the batch *of* that id, opened by this process."""

    name: str
    args: tuple[Any, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)
    of: str | None = None

    def on(self, world: World) -> Any:
        """Make the call; return its answer, an awaitable or an iterator."""
        target = world.client if self.of is None else world.batches[self.of]
        return getattr(target, self.name)(*self.args, **self.more)


@dataclass(frozen=True, slots=True)
class Block:
    """Opens a batch and makes *calls* in its block, which raises at last, if *raises*."""

    opening: Call
    calls: tuple[Call, ...]
    raises: bool
    of: None = None

    def on(self, world: World) -> Any:
        opened = self.opening.on(world)
        return self._awaited(opened) if isinstance(opened, Awaitable) else self._entered(opened)

    def _entered(self, opened: Any) -> list[Any]:
        with opened as batch:
            answers = [batch, *(getattr(batch, call.name)(*call.args, **call.more) for call in self.calls)]
            if self.raises:
                raise Boom("no more rows")
        return [*answers, batch.closed]

    async def _awaited(self, opening: Any) -> list[Any]:
        async with opening as batch:
            answers = [batch]
            answers += [await getattr(batch, call.name)(*call.args, **call.more) for call in self.calls]
            if self.raises:
                raise Boom("no more rows")
        return [*answers, batch.closed]


@dataclass(frozen=True, slots=True)
class Refused:
    """An error: its type, its text with its notes, and what else a program may read of it."""

    kind: str
    text: str
    more: dict[str, Any]


def answer_of(world: World, call: Call | Block, runner: asyncio.Runner) -> Any:
    """Return the answer of a call as a value that compares, or its refusal."""
    try:
        return _value(world, _settled(call.on(world), runner))
    except (FaninError, Boom, TimeoutError) as error:
        notes = getattr(error, "__notes__", [])
        more = {name: value for name, value in vars(error).items() if name != "__notes__"}
        return Refused(type(error).__name__, "\n".join([str(error), *notes]), more)
    except TypeError as error:
        if not re.search(r"got an unexpected keyword|positional argument", str(error)):
            raise
        return Refused("TypeError", "another signature", {})


def _settled(answer: Any, runner: asyncio.Runner) -> Any:
    if isinstance(answer, AsyncGenerator):
        return runner.run(_listed(answer))
    if isinstance(answer, Awaitable):
        return runner.run(_waited(answer))
    return list(answer) if isinstance(answer, Iterator) else answer


async def _waited(answer: Awaitable[Any]) -> Any:
    return await answer


async def _listed(answers: AsyncGenerator[Any, None]) -> list[Any]:
    return [answer async for answer in answers]


def _value(world: World, answer: Any) -> Any:
    """Return *answer*, with what a program sees of a batch in place of its object."""
    if isinstance(answer, list):
        return [_value(world, each) for each in answer]
    if isinstance(answer, Batch | AsyncBatch):
        world.batches[answer.id] = answer
        shown = (getattr(answer, name, None) for name in ("id", "closed", "items", "origin_batch_id"))
        return ("batch", *shown)
    return answer


def name_of(call: Call | Block, answer: Any) -> str:
    """Return how a call is counted: its name, and whether it was refused."""
    name = getattr(call, "name", type(call).__name__.lower())
    name = f"batch.{name}" if call.of else name
    return f"{name} refused" if isinstance(answer, Refused) else name
