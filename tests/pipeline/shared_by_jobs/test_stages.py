"""The slots of a cluster by its settings, the rate of a task, and a task for each share of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F

from pipeline.shared_by_jobs.stages import ASSUMED, SLOTS, Slots, dealt, slots_by

STATIC = {"spark.executor.instances": "9", "spark.executor.cores": "4"}
DYNAMIC = {**STATIC, "spark.dynamicAllocation.enabled": "true"}
MOST = "spark.dynamicAllocation.maxExecutors"


@pytest.mark.parametrize(
    ("settings", "slots"),
    [
        ({}, Slots(ASSUMED, bounded=False)),
        ({SLOTS: "40"}, Slots(40, bounded=False)),
        ({**STATIC, SLOTS: "40"}, Slots(36, bounded=True)),
        ({**STATIC, "spark.task.cpus": "2"}, Slots(18, bounded=True)),
        (DYNAMIC, Slots(ASSUMED, bounded=False)),
        ({**DYNAMIC, MOST: str(2**31 - 1)}, Slots(ASSUMED, bounded=False)),
        ({**DYNAMIC, MOST: "20"}, Slots(80, bounded=True)),
        ({"spark.master": "local[3,4]"}, Slots(3, bounded=True)),
        ({"spark.master": "local"}, Slots(1, bounded=True)),
        ({"spark.master": "local[*]"}, Slots(ASSUMED, bounded=False)),
    ],
)
def test_the_most_tasks_at_once_are_known_only_where_the_settings_bound_them(settings, slots):
    assert slots_by(settings.get) == slots


def test_a_local_spark_has_the_cores_of_its_machine_and_others_what_there_is_now():
    assert slots_by({"spark.master": "local[*]"}.get, now=7, cores=2) == Slots(2, bounded=True)
    assert slots_by({"spark.master": "yarn"}.get, now=7, cores=2) == Slots(7, bounded=False)


@given(st.integers(1, 200), st.booleans(), st.integers(1, 10_000), st.integers(1, 500))
def test_tasks_never_exceed_the_rate_together_whatever_the_cluster_grows_to(count, bounded, wanted, grown):
    paced = Slots(count, bounded).paced(wanted, 100.0)
    at_once = min(paced.tasks, count if bounded else grown)

    assert at_once * paced.rate <= 100.0 * (1 + 1e-9)
    assert Slots(count, bounded).paced(wanted, None).tasks == wanted


def test_each_share_of_files_has_a_row_and_a_task_of_its_own(spark):
    shares = [[f"{share} {number}" for number in range(share + 1)] for share in range(7)]

    rows = dealt(spark, shares).select("paths", F.spark_partition_id().alias("task")).collect()

    assert sorted(row.paths for row in rows) == shares
    assert len({row.task for row in rows}) == len(shares)
