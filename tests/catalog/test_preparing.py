from __future__ import annotations

from types import SimpleNamespace

import pytest

from examples.catalog import options, stages
from examples.catalog.system import spark
from pipeline.jobs import fan_out

RUN = SimpleNamespace(
    url="http://127.0.0.1:1", endpoint="http://127.0.0.1:2", outputs={"DemoQueueUrl": "http://127.0.0.1:2/q"}
)


@pytest.mark.parametrize("argv", [["--items", "300"], ["--whole"]])
def test_the_job_finds_the_manifest_that_was_written_before_its_arguments_were_known(argv, tmp_path):
    given = options.parse(argv)
    prepared = stages.manifest_of(given, str(tmp_path))

    before = spark.request_of(prepared)
    job = fan_out._request(fan_out.arguments().parse_args([*prepared, *stages.arguments(given, RUN)]))

    assert (before.manifest, before.source, before.limit) == (job.manifest, job.source, job.limit)
    assert (before.dataset, before.user_key) == (job.dataset, job.user_key)
