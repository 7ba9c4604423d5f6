"""Makes the page of one seed of the simulator: each request, what disturbed it, and the end."""

from __future__ import annotations

import re
from html import escape

from tests.simulation_seams.simulation import simulate

NAME, SEED = "seed.md", 105
LINE = re.compile(r"(?P<request>.*?\)) (?P<fault>[a-z, ]*?)(?P<answer> -> .*)?")
WIDTH, ANSWER = 120, 44
TEXT = """# One seed of the simulator

A publisher, consumers, the pipe of the stream and the sweeper around one batch, in virtual time. Each line is
a request of an invocation, by its number, and the answer; faults are marked. `{command}`
prints it in full, and [Proof](proof.md) says how many seeds run.

<pre class="trace" tabindex="0">
{lines}
</pre>

**{end}**, after {requests} requests and {faults} faults.
"""


def page() -> str:
    """Return the page as Markdown; raise AssertionError if the seed breaks a promise."""
    lines: list[str] = []
    outcome = simulate(SEED, lines)
    if outcome.violation:
        raise AssertionError(f"seed {SEED}: {outcome.violation}")
    return TEXT.format(
        command=f"python -m tests.simulation_seams.run --replay {SEED} --trace",
        lines="\n".join(map(_shown, lines)),
        end="No violation",
        requests=outcome.requests.total(),
        faults=outcome.faults.total(),
    )


def _shown(line: str) -> str:
    """Return a line as HTML: without fractions of a second, cut, and with its fault marked."""
    text = re.sub(r"\.\d+", "", line, count=1)
    found = LINE.fullmatch(text)
    if found is None:
        return escape(text[:WIDTH])
    fault = f" <b>{escape(found['fault'])}</b>" if found["fault"] else ""
    return f"{escape(found['request'][:WIDTH])}{fault}{escape((found['answer'] or '')[:ANSWER])}"
