"""Rules of items, of their ids and of their children, each left out once."""

from __future__ import annotations

from fanin import item_ids
from fanin.item_ids import ItemId
from fanin.queue.rules import model as queue_model
from tests.simulating.mutants import Mutant
from tests.simulation.children_mutants import CHILDREN_MUTANTS
from tests.simulation.mutants import MUTANTS as OF_THE_TRACKER

_parse = ItemId.parse


def _parsed_in_any_form(text, field="itemId"):
    return _parse(text.strip().lower() if isinstance(text, str) else text, field)


def _unparsed(item, field="itemId"):
    return None if item is None else str(item)


def _found(rule):
    return next(mutant for mutant in OF_THE_TRACKER if mutant.rule == rule)


ITEM_MUTANTS = (
    Mutant("an item id has one form", (item_ids.ItemId, "parse", staticmethod(_parsed_in_any_form))),
    Mutant("the item id of a job is parsed", (queue_model, "checked_item_id", _unparsed)),
    _found("a request heals before it climbs"),
    *CHILDREN_MUTANTS,
)
