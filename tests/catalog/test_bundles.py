"""The rate-limited batch API of the demo, and the account of its calls."""

from __future__ import annotations

from examples.catalog.system import bundles
from examples.catalog.system.batch_api import Request, Ruling
from examples.catalog.system.bundles import RateLimited
from fanin.grouper.settings.parsing import endpoints_of, policies_of
from fanin.settings.settings_file import SettingsFile


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


def test_the_functions_understand_their_settings():
    reported = bundles.settings({"x11", "games"}, "http://127.0.0.1:1/batch")

    assert reported["BUNDLED_SECTIONS"] == "games,x11"
    file = SettingsFile.parse(reported["FANIN_SETTINGS"])
    policy = policies_of(file.grouper_policies).of("games")
    assert (policy.max_size, policy.rate) == (50, bundles.CALLS_A_SECOND / 2)
    assert [each.url for each in endpoints_of(file.grouper_downstream)] == ["http://127.0.0.1:1/batch"]
