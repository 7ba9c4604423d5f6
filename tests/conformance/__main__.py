"""``make conformance``: fanin on a local run with a JWT issuer, by every case; exits with 1 if one fails."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from fanin.local import LocalRun
from fanin_conformance import CASES, Effort, Judgement, Verdict, judge
from fanin_conformance.__main__ import cases_of
from fanin_conformance.reporting import line_of, summary_of
from tests.conformance.on_local_run import OnLocalRun
from tests.http.events import Events
from tests.http.issuer import AUDIENCE, Issuer
from tests.proof.arguments import from_on
from tests.proof.interrupting import ended
from tests.proof.results import keep

TENANT = "acme"
SETTINGS = {
    "jwt_issuer": "https://issuer.example.com/",
    "jwt_audience": AUDIENCE,
    "jwt_tenant_claim": "org",
}


@contextmanager
def fanin() -> Iterator[OnLocalRun]:
    """Yield the adapter to a local run whose callers have tokens."""
    with Issuer() as issuer, LocalRun.start(context=SETTINGS) as run:
        gateway = run.client("apigatewayv2")
        (authorizer,) = gateway.get_authorizers(ApiId=run.outputs["ApiId"])["Items"]
        # The stack takes https:// issuers alone, and this one has no certificate.
        gateway.update_authorizer(
            ApiId=run.outputs["ApiId"],
            AuthorizerId=authorizer["AuthorizerId"],
            JwtConfiguration={"Issuer": issuer.url, "Audience": [AUDIENCE]},
        )
        tracker = OnLocalRun(run, Events.on(run), tenant=TENANT)
        bearer = f"Bearer {issuer.token(sub='suite', org=TENANT)}"
        tracker.sign = lambda method, url, body, headers: {**headers, "Authorization": bearer}
        yield tracker


def _row(each: Judgement) -> tuple[str, str, str, str]:
    return (each.case.id, each.case.then, each.verdict.value, f"{each.seconds:.1f} s")


def kept(found: Sequence[Judgement], effort: Effort) -> None:
    """Write the table for docs/proof.md: the cases that did not pass, and the total."""
    rows = [_row(each) for each in found if each.verdict is not Verdict.PASS]
    seconds = sum(each.seconds for each in found)
    rows.append((f"all {len(found)}", "", summary_of(found), f"{seconds:.1f} s"))
    note = f"{effort.rounds:,} rounds a race, {effort.items:,} items of a large batch."
    command = f'make conformance ARGS="--rounds {effort.rounds} --items {effort.items}"'
    keep("conformance", command, ("case", "then", "verdict", "time"), rows, note)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--rounds", type=from_on(1), default=Effort().rounds)
    parser.add_argument("--items", type=from_on(1), default=Effort().items)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--timeout", type=float, default=600.0)
    given = parser.parse_args()
    effort = Effort(given.rounds, given.items, given.timeout)
    cases = cases_of(parser, given.cases)
    print(f"{len(cases)} cases, {effort.rounds:,} rounds (all: 10,000), {effort.items:,} items", flush=True)
    with fanin() as tracker:
        found = judge(tracker, cases, effort, lambda each: print(line_of(each), flush=True))
    print(summary_of(found))
    if len(cases) == len(CASES):
        kept(found, effort)
    return 1 if any(each.is_bad for each in found) else 0


if __name__ == "__main__":
    ended(main)
