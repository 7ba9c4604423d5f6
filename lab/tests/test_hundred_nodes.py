"""The model of a hundred nodes is the one that the page shows."""

from __future__ import annotations

from lab.pages.revision import ROOT
from lab.pipeline import hundred_nodes


def test_the_page_has_the_table_of_the_model():
    assert hundred_nodes.table() in (ROOT / "docs/analytics.md").read_text()


def test_only_steps_of_one_task_do_not_end_sooner_on_more_nodes(monkeypatch):
    few = {step.name: step for step in hundred_nodes.steps()}
    monkeypatch.setattr(hundred_nodes, "SLOTS", 4 * hundred_nodes.SLOTS)
    many = {step.name: step for step in hundred_nodes.steps()}

    slow = {name for name, step in few.items() if step.seconds > 1 and many[name].seconds >= step.seconds}

    assert slow == {name for name in slow if few[name].tasks == 1 or "50 MB" in name}
    assert len(slow) == 3
