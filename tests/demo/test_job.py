from __future__ import annotations

from pipeline.demo import job


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
