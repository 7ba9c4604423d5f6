"""The rate-limited batch API of the demo, and the account of its calls."""

from __future__ import annotations

import pytest

from examples.catalog.system import bundles
from examples.catalog.system.batch_api import Call, Request, Ruling
from examples.catalog.system.bundles import Bundled, RateLimited
from fanin.aws.settings.settings_file import SettingsFile
from fanin.grouper.settings.parsing import endpoints_of, policies_of


def request(bundle: str, *packages: str, attempt: int = 1) -> Request:
    tasks = {f"task-{name}": {"package": name} for name in packages}
    return Request(bundle, "games", attempt, tasks)


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def __call__(self) -> float:
        return self.at


def test_a_call_too_many_a_second_is_refused_and_taken_later_and_a_repeated_one_is_not_done_again():
    clock = Clock()
    api = RateLimited(rate=2, now=clock)

    first, second = api.judge(request("a")), api.judge(request("b"))
    clock.at += 0.5
    third = api.judge(request("b"))
    clock.at += 0.5

    assert [each.status for each in (first, second, third)] == [200, 429, 200]
    assert (second.retry_after, third.again) == (1, False)
    assert api.judge(request("a")) == Ruling(200, again=True)


@pytest.mark.parametrize(
    ("every", "attempts", "lost"),
    [(3, [1] * 7, [0, 3, 6]), (2, [3, 1, 1, 2, 1], [1, 2, 4]), (0, [1] * 3, [])],
)
def test_one_answer_in_so_many_is_lost_the_first_among_them_but_none_to_a_repeated_call(
    every, attempts, lost
):
    """The backoff after a third attempt is four times that after the first."""
    clock = Clock()
    api = RateLimited(lose_every=every, now=clock)
    found = []
    for number, attempt in enumerate(attempts):
        clock.at += 1
        found += [number] * api.judge(request(str(number), attempt=attempt)).lost

    assert found == lost


def test_the_account_counts_bundles_calls_and_what_was_done_in_them():
    refused, lost, again = Ruling(429), Ruling(200, lost=True), Ruling(200, again=True)
    calls = [
        Call(request("a", "p", "q"), refused),
        Call(request("a", "p", "q"), lost),
        Call(request("a", "p", "q"), again),
        Call(request("b", "r"), Ruling(200)),
    ]

    found = Bundled.of(calls)

    assert found == Bundled(calls=4, bundles=2, refused=1, lost=1, successes={"p": 1, "q": 1, "r": 1})
    assert (found.tasks, found.mean_size, found.saved) == (3, 1.5, -1)


def test_the_functions_understand_their_settings():
    reported = bundles.settings({"x11", "games"}, "http://127.0.0.1:1/batch")

    assert reported["BUNDLED_SECTIONS"] == "games,x11"
    file = SettingsFile.parse(reported["FANIN_SETTINGS"])
    policy = policies_of(file.grouper_policies).of("games")
    assert (policy.max_size, policy.rate) == (50, bundles.CALLS_A_SECOND / 2)
    assert [each.url for each in endpoints_of(file.grouper_downstream)] == ["http://127.0.0.1:1/batch"]
