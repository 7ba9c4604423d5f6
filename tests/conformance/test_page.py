"""docs/conformance.md: its adapter runs over a Redis in memory, and its output is what the command prints."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from fanin_conformance import CASES, Effort, judge
from fanin_conformance.__main__ import main
from lab.conforming.__main__ import PROOF, line_of_fanin
from lab.conforming.counters import Counter

PAGE = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text()
SECONDS = re.compile(r" +\d+\.\d\d s")


class Redis:
    """The four commands of the example."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, str]] = defaultdict(dict)

    def hset(self, key, field=None, value=None, mapping=None):
        self.rows[key] |= {name: str(each) for name, each in (mapping or {field: value}).items()}

    def hget(self, key, field):
        return self.rows[key].get(field)

    def hincrby(self, key, field, by):
        self.hset(key, field, int(self.rows[key].get(field, 0)) + by)
        return int(self.rows[key][field])

    def hexists(self, key, field):
        return field in self.rows[key]

    def hgetall(self, key):
        return self.rows.get(key, {})


def test_the_adapter_of_the_page_is_judged(monkeypatch):
    fake = SimpleNamespace(Redis=SimpleNamespace(from_url=lambda *_, **__: Redis()))
    monkeypatch.setitem(sys.modules, "redis", fake)
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
    names: dict[str, object] = {}
    exec(compile(code, "docs/conformance.md", "exec"), names)  # noqa: S102  # the page's own code

    cases = [CASES[each] for each in ("T1", "T2", "T3", "T5", "T12", "T15", "T19", "T36")]
    found = judge(names["Counter"]("redis://127.0.0.1"), cases, Effort(rounds=3))

    assert [each.verdict.value for each in found] == [*["pass"] * 4, *["fail"] * 3, "not supported"]


def test_the_output_of_the_page_is_the_commands(capsys):
    shown = re.search(r"```console\n\$ [^\n]*\n(.*?)\.\.\.\n```", PAGE, re.DOTALL)[1].splitlines()
    main(["--adapter", "tests.conformance.reference:Reference", "--cases", "T1,T2", "--url", "x"])
    printed = capsys.readouterr().out.splitlines()

    assert [SECONDS.sub("", line) for line in shown[1:]] == [SECONDS.sub("", line) for line in printed[1:3]]
    assert shown[0].replace("30 cases", "2 cases") == printed[0]
    assert f"{len(CASES)} cases" in shown[0]


class CounterInMemory(Counter):
    """The counter of the table, over a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, dict[str, str]] = defaultdict(dict)

    def write(self, batch, name, value):
        self.rows[batch][name] = value

    def change(self, batch, by):
        self.rows[batch]["left"] = str(int(self.rows[batch].get("left", 0)) + by)
        return int(self.rows[batch]["left"])

    def row(self, batch):
        return dict(self.rows.get(batch, {}))


def test_the_table_has_all_cases_of_each_tracker_and_a_counter_passes_and_fails_those_that_it_lists():
    lines = re.findall(
        r"^\| (\w+ \w+) \| [\w. ]+ \| (\d+): ([^|]+) \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE
    )
    rows = re.findall(r"^\| ([\w, ]+) \| (T\d+: .+) \|$", PAGE, re.MULTILINE)
    failed = [(case, names) for names, cases in rows for case in re.findall(r"\b(T\d+): ", cases)]
    alone = [case for case in CASES.values() if not case.is_race]

    found = judge(CounterInMemory(), alone, Effort(rounds=3, items=2000, timeout=30))

    assert [sum(map(int, (good, bad, other))) for _, good, _, bad, other in lines] == [len(CASES)] * 5
    seen = {each.case.id: "fail" if each.is_bad else each.verdict.value for each in found}
    for name, good, passed, bad, _ in lines:
        verdicts = dict.fromkeys(passed.split(", "), "pass")
        verdicts |= {case: "fail" for case, names in failed if name in names}
        assert [*verdicts.values()] == ["pass"] * int(good) + ["fail"] * int(bad)
        if name == "Redis counter":
            assert {case: verdicts.get(case, "not supported") for case in seen} == seen


def test_the_line_of_fanin_is_that_of_the_page_of_proofs():
    assert f"| {' | '.join(line_of_fanin(PROOF.read_text()))} |" in PAGE
    with pytest.raises(ValueError, match="run make conformance"):
        line_of_fanin(PROOF.read_text().replace("30 cases: 30 pass", "30 cases: 29 pass, 1 fail"))
