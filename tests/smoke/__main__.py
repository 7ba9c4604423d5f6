"""``python -m tests.smoke --stage NAME``: asks, runs the steps on the stage, cleans up, prints a table."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from fanin.cost.bill import Bill, Usage
from fanin.settings.tracking import OUTPUTS
from tests.smoke.analytics import MOST_DOLLARS
from tests.smoke.site import Stage
from tests.smoke.steps import STEPS, Step


@dataclass(frozen=True)
class Result:
    """How a step went."""

    name: str
    passed: bool
    seen: str
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the smoke test and return the exit code: 0 if all steps passed, 1 if not, 2 if it was declined."""
    parser = argparse.ArgumentParser(prog="python -m tests.smoke", description=__doc__)
    parser.add_argument("--stage", required=True, help="the stack Fanin-STAGE of your credentials' account")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args(arguments)
    stage = _found(parser, options.stage)
    print(announcement(stage))
    if not (options.yes or _is_wanted()):
        return 2
    for variable, output in OUTPUTS.items():
        if output in stage.outputs:
            os.environ[variable] = stage.outputs[output]
    os.environ["FANIN_TENANT"] = stage.client("sts").get_caller_identity()["Account"]
    results = smoke(stage)
    print(table(results))
    return 0 if all(result.passed for result in results) else 1


def _is_wanted() -> bool:
    try:
        return input("Go on? [y/N] ").strip().lower() == "y"
    except EOFError:
        print("\nno answer; ARGS=--yes does not ask")
        return False


def _found(parser: argparse.ArgumentParser, name: str) -> Stage:
    """Return the stage; exit with 2 if there is none."""
    if not name:
        parser.error("give the stage: make smoke STAGE=prod")
    try:
        return Stage.of(name)
    except (BotoCoreError, ClientError) as error:
        parser.error(f"stage {name!r} is not found: {error}; check STAGE, AWS_PROFILE and AWS_REGION")


def announcement(stage: Stage) -> str:
    """Return what will be done, and what it costs at most."""
    dollars = most_dollars(stage)
    return (
        f"{stage.stack} at {stage.url}: four batches of up to 1,024 items, one task, two work queues and\n"
        f"one job, all named {stage.name}; a Spark run is started and cancelled where the stage has one.\n"
        f"It costs at most ${dollars:.3f} at list price. What it makes is deleted or expires."
    )


def most_dollars(stage: Stage) -> float:
    """Return the most that the steps cost at list price."""
    total = sum((Usage(step.units) for step in STEPS), Usage())
    dollars = Bill(total).dollars
    dollars += MOST_DOLLARS["glue"] if "AWS::Glue::Job" in stage.resources else 0
    return dollars + (MOST_DOLLARS["emr"] if "PipelineApplicationId" in stage.outputs else 0)


def smoke(stage: Stage, steps: Sequence[Step] = STEPS) -> list[Result]:
    """Run all *steps*, whatever becomes of one, and then undo what they made."""
    results = [_ran(step.name, partial(step.run, stage)) for step in steps]
    while stage.cleaning:
        what, undo = stage.cleaning.pop()
        results.append(_ran(f"clean up: {what}", partial(_undone, undo)))
    return results


def _undone(undo: Callable[[], object]) -> str:
    undo()
    return "done"


def _ran(name: str, run: Callable[[], str]) -> Result:
    started = time.monotonic()
    try:
        passed, seen = True, run()
    except Exception as error:  # a step that raises has failed, and the others go on
        passed, seen = False, f"{type(error).__name__}: {error}"
    return Result(name, passed, seen, time.monotonic() - started)


def table(results: Sequence[Result]) -> str:
    """Return the results as a table."""
    wide = max(len(result.name) for result in results)
    lines = [
        f"{'ok    ' if each.passed else 'FAILED'}  {each.name:<{wide}}  {each.seconds:5.1f} s  {each.seen}"
        for each in results
    ]
    failed = sum(not result.passed for result in results)
    last = f"{failed} of {len(results)} failed" if failed else f"all {len(results)} passed"
    return "\n".join([*lines, last])


if __name__ == "__main__":
    sys.exit(main())
