"""The README's examples, run as they stand there, against the local run."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest

from tests.pages import ROOT, PageRun, blocks_of
from tests.proof.stages import ROOMS

README = (ROOT / "README.md").read_text()
CONSUMER, PUBLISHER, ACKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def _smaller(text: str) -> str:
    """The example at a hundredth of its size: pages of this run have four items."""
    assert re.search(r"\b10_?000\b", text)
    return re.sub(r"\b10_?000\b", "100", text)


def test_the_readmes_publisher_consumer_and_acks_work_together(run, api, monkeypatch, capsys):
    published: dict[str, Any] = {}
    exec(_smaller(PUBLISHER).replace("http://127.0.0.1:8787", run.url), published)  # noqa: S102
    sent, batch = published["sent"], published["batch"].id
    for name, value in run.environment.items():
        monkeypatch.setenv(name, value)
    worked: list[str] = []
    names = {"work_on": worked.append}
    exec(CONSUMER, names)  # noqa: S102
    records = [{"messageId": item, "body": item, "attributes": {}} for item in sent[:20]]

    assert names["handler"]({"Records": records}, None) == {"batchItemFailures": []}
    assert worked == sent[:20]
    found = api.status(batch)
    assert (found["total"], found["progress"]["acked"], found["state"]) == (100, 20, "CLOSED")
    exec(ACKS, published)  # noqa: S102
    printed = re.search(r"print\(status.*#\s*(.*)", ACKS)[1]
    assert capsys.readouterr().out.strip() == _smaller(printed)
    assert api.status(batch)["result"] == "completed_with_failures"


@pytest.mark.side_by_side
def test_the_readmes_commands_print_what_it_shows(run, tmp_path):
    (commands,) = [block for block in blocks_of(ROOT / "README.md") if block.language == "console"]

    with PageRun(tmp_path, run.environment, replaced={"10000": "100", "10,000": "100"}) as page:
        page.block(commands)


def rows_of(page: str, marker: str) -> list[list[str]]:
    """The rows of a generated table, without its heading."""
    text = (ROOT / "docs" / page).read_text().split(f"<!-- {marker} -->")[1].split("<!-- end -->")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows[1:] if "---" not in row]


def total(section: str, *columns: str) -> int:
    """The sum of the figures named *columns* in the row of *section* of docs/proof.md."""
    page = (ROOT / "docs" / "proof.md").read_text()
    (figures,) = re.findall(rf"^\| {section} \| [^|]+ \| ([^|]+) \|", page, re.MULTILINE)
    found = (re.findall(rf"([\d,]+) {column}\b", figures) for column in columns)
    return sum(int(number.replace(",", "")) for (number,) in found)


def test_the_reasons_to_believe_it_are_those_of_the_pages():
    (why,) = re.findall(r"Why believe it:\n\n(.*?)\n\n", README, re.DOTALL)
    ends = {row[0]: row[2] for row in rows_of("performance/peers.md", "table: ends")}

    assert {verdict for name, verdict in ends.items() if "counter" in name} == {"early in 20"}
    assert {verdict for name, verdict in ends.items() if "fanin" in name} == {"once in 20"}
    assert total("simulators", "violations") + total("exhaustive", "violations") == 0
    assert total("mutants", "violations") == 0
    assert f"{total('simulators', 'runs'):,} random schedules and {total('exhaustive', 'runs'):,} of" in why
    rooms = [import_module(f"{room}.mutants") for room in ROOMS.values()]
    found, held = (sum(len(getattr(room, kind)) for room in rooms) for kind in ("MUTANTS", "EQUIVALENT"))
    assert f"each of {found}, and none of {held} that another rule holds up" in why
    assert f"of {total('crashes', 'handlers')} handlers: {total('crashes', 'kills'):,}, all recovered" in why
    assert total("crashes", "kills", "other disturbances") == total("crashes", "recovered")
