"""Where a part has more jobs than are counted: what its number says, also while the parts are raised."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fanin.queue.administration.counting import depth_of
from fanin.queue.rules.config import Phase
from fanin.queue.rules.keys import PartKey
from fanin.queue.rules.model import Accuracy, PartLook
from tests.queue.claiming import Bench
from tests.queue.conftest import KEY

UNKNOWN, EMPTY = PartLook((), (), complete=False), PartLook((), (), complete=True)


def counted(looks, before, **scripts):
    """The depth of a queue of two parts; *before*: their old number, if they are being raised."""
    bench = Bench(parts=2)
    config = bench.context.config()
    raised = replace(config, revision=1, before=before, phase=Phase.DRAINING if before else Phase.STEADY)
    bench.store.real.reconfigure(KEY, raised)
    bench.context.read_config()
    bench.store.scripts = scripts
    return depth_of(bench.context, looks)


def jobs_of(part: PartKey, limit: int) -> int:
    """3,000 jobs in the first part, and more than are counted in the second."""
    return limit if part.number else 3000


@pytest.mark.parametrize(
    ("before", "jobs", "accuracy"), [(None, 6000, Accuracy.APPROXIMATE), (1, 5000, Accuracy.AT_LEAST)]
)
def test_the_jobs_of_a_state_are_extrapolated_unless_the_parts_are_raised(before, jobs, accuracy):
    depth = counted([UNKNOWN, UNKNOWN], before, count=lambda part, _, limit: jobs_of(part, limit))

    assert (depth.ready, depth.busy, depth.delayed, depth.accuracy) == (jobs, jobs, jobs, accuracy)


@pytest.mark.parametrize(
    ("before", "jobs", "accuracy"), [(None, 6000, Accuracy.APPROXIMATE), (1, 5000, Accuracy.AT_LEAST)]
)
def test_so_are_dead_jobs(before, jobs, accuracy):
    depth = counted([EMPTY, EMPTY], before, count_dead=jobs_of)

    assert (depth.dead, depth.ready, depth.accuracy) == (jobs, 0, accuracy)
