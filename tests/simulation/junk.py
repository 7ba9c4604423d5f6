"""Acks of items that no add ever handed out: forged, tampered with, foreign, beyond the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

from fanin.tracker import Ack, GroupId, Verdict
from tests.simulation.ledger import Message


@dataclass(frozen=True, slots=True)
class Junk:
    """An ack that must touch nothing, and the verdict that it deserves."""

    ack: Ack
    verdict: Verdict


def made_from(random: Random, message: Message, batch_ids: list[str]) -> Junk:
    """Something that looks much like *message*; *batch_ids*: those of other batches."""
    genuine = GroupId.decode(message.group_id)
    if genuine is None:
        raise ValueError(f"{message.group_id} is no group id")
    forms = (
        replace(genuine, tag=genuine.tag ^ 1 << random.randrange(46)),
        replace(genuine, upto=genuine.upto + random.randint(1, 9)),
        replace(genuine, start=genuine.start + random.randint(1, 5)),
    )
    caller = f"junk-{random.randrange(100)}"
    kind = random.randrange(5)
    if kind == 0:
        beyond = genuine.upto + random.choice((0, 0, 1, 7, 9_000))
        ack = Ack(message.batch.batch_id, message.group_id, random.choice((0, beyond)), beyond, caller)
        return Junk(ack, Verdict.OUT_OF_RANGE)
    if kind == 1:
        foreign = random.choice(batch_ids or [str(UUID(int=random.getrandbits(128)))])
        return Junk(Ack(foreign, message.group_id, 0, 0, caller), Verdict.NOT_FOUND)
    if kind == 2:
        unknown = str(UUID(int=random.getrandbits(128)))
        return Junk(Ack(message.batch.batch_id, unknown, 0, 0, caller), Verdict.NOT_FOUND)
    form = random.choice(forms)
    last = random.randrange(min(form.upto, 10))
    return Junk(Ack(message.batch.batch_id, str(form), last, last, caller), Verdict.NOT_FOUND)
