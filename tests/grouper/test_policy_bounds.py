"""Each setting of a policy is accepted up to its bounds, and has the default that docs/grouper.md gives."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper import Timing
from fanin.grouper.settings.endpoints import Secret
from fanin.grouper.settings.parsing import policies_of

PAGE = Path(__file__).parents[2] / "docs" / "grouper.md"
SECRET = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:batch-api-AbCdEf"  # pragma: allowlist secret
WIDE = {"maxDelaySeconds": 900, "callLeaseSeconds": 840}
"""Settings that bound others, as large as they may be."""
BOUNDS = [
    ("maxSize", 1, 1000, 1),
    ("shards", 1, 64, 1),
    ("burst", 1, 1000, 1),
    ("maxAttempts", 1, 100, 1),
    ("inPlace", 0, 10, 1),
    ("rate", 0.001, 100_000, 0.0005),
    ("lingerSeconds", 0, 900, 0.5),
    ("maxDelaySeconds", 1, 900, 0.5),
    ("leaseSeconds", 5, 300, 0.5),
    ("callLeaseSeconds", 5, 840, 0.5),
    ("callTimeoutSeconds", 0.000001, 420, 0.000001),
]
"""The least value, the largest, and the step to the first that is refused."""


def policy(name, value):
    return policies_of([{"pattern": "*", **WIDE, name: value}]).of("any")


@pytest.mark.parametrize(("name", "least", "most", "step"), BOUNDS)
def test_a_setting_is_accepted_up_to_its_bounds_and_refused_beyond(name, least, most, step):
    for value in (least, most):
        policy(name, value)
    for value in (least - step, most + step):
        with pytest.raises(InvalidRequest):
            policy(name, value)


def test_a_delay_is_not_shorter_than_the_linger():
    assert policies_of([{"pattern": "*", "lingerSeconds": 4, "maxDelaySeconds": 4}])
    with pytest.raises(InvalidRequest):
        policies_of([{"pattern": "*", "lingerSeconds": 4, "maxDelaySeconds": 3.999}])


def defaults():
    """The column "default" of the table of settings, a value for each name."""
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)?) \| [^|]* \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)
    for names, texts in rows:
        yield from zip(re.findall(r"`(\w+)`", names), texts.split(", "), strict=False)


def test_the_defaults_are_those_of_the_docs():
    given = {
        name: int(text) if text.isdecimal() else text.strip("`")
        for name, text in defaults()
        if name in {each for each, *_ in BOUNDS} - {"rate", "callTimeoutSeconds"}
    }

    assert len(given) == len(BOUNDS) - 2
    assert policies_of([{"pattern": "*", **given}]).of("any") == policies_of([]).of("any")
    assert policies_of([]).of("any").rate is None
    assert policies_of([]).of("any").call_timeout is None


@pytest.mark.parametrize(
    ("seconds", "accepted"), [(1, True), (0.999, False), (86_400, True), (86_401, False)]
)
def test_a_secret_is_read_again_after_a_second_to_a_day(seconds, accepted):
    if accepted:
        assert Secret(SECRET, refresh=seconds).refresh == seconds
        return
    with pytest.raises(InvalidRequest):
        Secret(SECRET, refresh=seconds)


def test_a_task_is_kept_for_14_days_and_for_7_after_its_end(make_bench):
    bench = make_bench(timing=Timing())
    (task,) = bench.register("a")
    pending = task.expires_at - task.created_at
    bench.drain()

    assert pending == timedelta(days=14)
    assert bench.task("a").expires_at == bench.clock.at + timedelta(days=7)
