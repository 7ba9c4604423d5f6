"""The Spark job of the demo as a process: its environment, and that it ends with what it belongs to."""

from __future__ import annotations

import subprocess
import sys
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


WITHOUT_SPARK = """import sys
from examples.catalog.system import spark
spark.started_session, spark.prepare = (lambda *_, **__: None), (lambda *_: None)
spark.main(int(sys.argv[1]), ["--dataset", "d", "--manifest", "m"])"""


def test_the_death_of_the_demo_is_the_death_of_its_job():
    command = ["sh", "-c", '"$0" -c "$1" $$; true', sys.executable, WITHOUT_SPARK]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, start_new_session=True) as demo:
        assert "ready" in demo.stdout.readline()

        demo.kill()

        # The end of what the job prints is its end: it still waits for its arguments.
        assert demo.stdout.read() == ""
