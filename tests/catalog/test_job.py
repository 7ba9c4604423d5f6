from __future__ import annotations

import time
from pathlib import Path

from examples.catalog.system import job
from tests.polling import eventually


def test_the_job_sees_no_aws_setting_of_the_user_and_no_proxy_for_this_machine():
    seen = job.environment(
        {"AWS_PROFILE": "mine", "AWS_ENDPOINT_URL": "http://x", "HOME": "/h", "NO_PROXY": "y"}
    )

    aws = {name for name in seen if name.startswith("AWS_")}
    assert aws == {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_DEFAULT_REGION",
        "AWS_EC2_METADATA_DISABLED",
    }
    assert (seen["HOME"], seen["NO_PROXY"], seen["no_proxy"]) == ("/h", "127.0.0.1", "127.0.0.1")


def test_the_end_of_a_job_is_the_end_of_what_outlives_its_process(tmp_path, monkeypatch):
    monkeypatch.setattr(job, "MODULE", "tests.catalog.stubborn")
    monkeypatch.setattr(job, "STOP_SECONDS", 0.5)
    started = job.SparkJob(tmp_path / "log")
    while not (reported := started.events()):
        time.sleep(0.05)
    child = Path(f"/proc/{reported[0]['pid']}")
    assert child.exists()

    started.stop()

    assert eventually(lambda: not child.exists() or "zombie" in (child / "status").read_text())
