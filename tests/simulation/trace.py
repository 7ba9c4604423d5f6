"""The schedule of a run as text: one line for each request, who sent it, what befell it, what was stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanin.tracker.rules.children import Children
from fanin.tracker.rules.lifecycle import Transition
from fanin.tracker.rules.model import Batch, BatchKey, Group, ItemKey, PageKey, Receipt, Sample
from fanin.tracker.rules.page import Page
from fanin.tracker.store import Written


class Trace:
    """Takes the requests of one run down in *lines*."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def request(self, actor: str, name: str, args: tuple[Any, ...], fault: str, answer: str) -> None:
        shown = ", ".join(text for text in map(brief, args) if text)
        struck = f" [{fault}]" if fault else ""
        self.lines.append(f"{len(self.lines):4} {actor:24} {name}({shown}){struck} -> {answer}")

    def answered(self, answer: Any) -> None:
        """Fill in what the last request was answered."""
        self.lines[-1] = self.lines[-1].removesuffix("...") + (brief(answer) or "nothing")


def brief(value: Any) -> str:
    """A value in a few characters; empty where it says nothing of the schedule, as times do."""
    shown = SHOWN.get(type(value))
    return shown(value) if shown else ""


def _page(page: Page) -> str:
    bits = "compacted" if page.compacted else f"{page.bits:b}"
    bits += f" failed {page.failed:b}" if page.failed else ""
    size = f" of {page.size}" if page.size else ""
    return f"<{bits} n={page.n}{size}{' root' if page.root else ''}>"


def _batch(batch: Batch) -> str:
    notified = f" by {batch.completed_by}" if batch.completed_by else ""
    failed = f" failed {batch.failed}" if batch.failed else ""
    return f"{batch.batch_id[:4]} {batch.state} {batch.total}{failed}{notified}"


def _turn(step: Transition) -> str:
    return f"{step.to}{f' by {step.caller}' if step.caller else ''}"


SHOWN: dict[type, Callable[[Any], str]] = {
    bool: str,
    int: str,
    str: lambda text: text[:24],
    Page: _page,
    Written: lambda written: f"{'applied' if written.applied else 'refused'} {_page(written.page)}",
    Batch: _batch,
    Transition: _turn,
    Sample: lambda sample: f"sample of {sample.item_id[-6:]}",
    BatchKey: lambda key: key.batch_id[:4],
    PageKey: lambda key: f"{key.batch.batch_id[:4]}/{key.level}/{key.number}",
    ItemKey: lambda item: f"{item.batch.batch_id[:4]}:{item.position}",
    Children: lambda children: f"{len(children.live)} live, {len(children.failed)} failed",
    Receipt: lambda receipt: f"receipt {receipt.key[:4]} {receipt.start}+{receipt.count}",
    Group: lambda group: f"group of {group.upto}",
    list: lambda values: f"[{', '.join(map(brief, values))}]",
    dict: lambda values: f"[{', '.join(f'{brief(key)}: {brief(one)}' for key, one in values.items())}]",
}
