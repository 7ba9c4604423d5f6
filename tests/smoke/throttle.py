"""Whether the routes of the API share its throttle: AWS documents no answer for the default of a stage."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import sleep

from fanin.client.transports.http import HttpTransport
from tests.smoke.site import Stage

ROUTES = ("/v1/batches/00000000-0000-4000-8000-00000000dead", "/v1/batches?limit=1")
CALLERS, SECONDS, MOST = 16, 3.0, 600
"""How many ask at once, for how long, and how many requests at most."""
REFUSED = 429
APART = 1.5
"""Two routes that admit so many times as much as one are throttled apart."""


@dataclass(frozen=True)
class Limits:
    """The default of the stage: requests a second, and the size of the bucket."""

    rate: float
    burst: float

    def admit(self, seconds: float) -> float:
        """Return the requests that one bucket admits in so many seconds."""
        return self.burst + self.rate * seconds


@dataclass(frozen=True)
class Flood:
    """The outcome of more requests than a bucket admits, sent for *seconds*."""

    admitted: int
    refused: int
    seconds: float


def throttle(stage: Stage) -> str:
    """Ask one route, then two, more often than the stage admits, and compare."""
    limits = _limits(stage)
    if limits is None:
        return "no throttle on this stage"
    if limits.admit(SECONDS) > MOST / 2:
        return f"not measured: {limits.rate:.0f} a second take more than {MOST} requests"
    one = _flood(stage.transport, ROUTES[:1])
    sleep(limits.burst / limits.rate + 1)  # the bucket is full again
    return verdict(limits, one, _flood(stage.transport, ROUTES))


def verdict(limits: Limits, one: Flood, two: Flood) -> str:
    """Return what the floods of *one* route and of *two* say of the throttle."""
    seen = f"one route {one.admitted} of {one.admitted + one.refused}, two {two.admitted} of "
    seen += (
        f"{two.admitted + two.refused}, with a rate of {limits.rate:.0f} and a burst of {limits.burst:.0f}"
    )
    if not (one.refused and two.refused):
        return f"too little was refused to judge: {seen}"
    of_one, of_two = (each.admitted / limits.admit(each.seconds) for each in (one, two))
    sentence = (
        "each route has a throttle of its own" if of_two > APART * of_one else "the routes share the throttle"
    )
    return f"{sentence}: {seen}"


def _limits(stage: Stage) -> Limits | None:
    found = stage.client("apigatewayv2").get_stage(ApiId=stage.outputs["ApiId"], StageName="$default")
    settings = found.get("DefaultRouteSettings", {})
    if not settings.get("ThrottlingRateLimit"):
        return None
    return Limits(float(settings["ThrottlingRateLimit"]), float(settings["ThrottlingBurstLimit"]))


def _flood(transport: HttpTransport, routes: Sequence[str]) -> Flood:
    """Ask *routes* in turns, by several callers at once."""
    turns = iter(list(itertools.islice(itertools.cycle(routes), MOST)))
    statuses: Counter[bool] = Counter()
    began = time.monotonic()
    with ThreadPoolExecutor(CALLERS) as callers:
        for each in [callers.submit(_ask, transport, turns, began + SECONDS) for _ in range(CALLERS)]:
            statuses += each.result()
    return Flood(statuses[False], statuses[True], time.monotonic() - began)


def _ask(transport: HttpTransport, turns: Iterator[str], end: float) -> Counter[bool]:
    """Send requests until *end*, or the last of *turns*; count those that were refused, and the others."""
    found: Counter[bool] = Counter()
    for route in turns:
        if time.monotonic() >= end:
            break
        found[transport._once(transport._request("GET", route, None, {}), math.inf).status == REFUSED] += 1
    return found
