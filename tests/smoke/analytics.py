"""The Spark jobs of a stage with analytics: a run is started, and cancelled once it was accepted."""

from __future__ import annotations

import json

from tests.smoke.site import Failed, Stage

MOST_DOLLARS = {"glue": 0.05, "emr": 0.10}
"""A Glue run is billed for a minute at least, of 2 workers: 0.44 dollars an hour each. An EMR run that is
cancelled as it starts is billed for a minute of a driver, and the application until it stops, if it started.
"""


def glue(stage: Stage) -> str:
    """Start the audit on Glue, and stop it."""
    jobs = [name for name in stage.resources.get("AWS::Glue::Job", []) if name.endswith("-audit")]
    if not jobs:
        return "no Glue on this stage"
    client = stage.client("glue")
    run = client.start_job_run(JobName=jobs[0], Arguments={"--rate": "1"})["JobRunId"]
    stage.clean_later("the Glue run", lambda: _stop(client, jobs[0], run))
    state = client.get_job_run(JobName=jobs[0], RunId=run)["JobRun"]["JobRunState"]
    if state in {"FAILED", "ERROR"}:
        raise Failed(f"{jobs[0]} is {state}")
    return f"{jobs[0]} is {state}"


def _stop(client: object, job: str, run: str) -> None:
    errors = client.batch_stop_job_run(JobName=job, JobRunIds=[run])["Errors"]  # type: ignore[attr-defined]
    if errors:
        raise Failed(f"{job} was not stopped: {errors}")


def emr(stage: Stage) -> str:
    """Start the audit on EMR Serverless, and cancel it."""
    application = stage.outputs.get("PipelineApplicationId")
    if not application:
        return "no EMR Serverless on this stage"
    client = stage.client("emr-serverless")
    arguments = ["--fanin-job", "audit", "--region", client.meta.region_name, "--rate", "1"]
    arguments += [
        "--batches-table",
        stage.outputs["BatchesTable"],
        "--pages-table",
        stage.outputs["PagesTable"],
    ]
    run = client.start_job_run(
        applicationId=application,
        executionRoleArn=json.loads(stage.outputs["PipelineRoles"])["audit"],
        name=stage.name,
        jobDriver={
            "sparkSubmit": {"entryPoint": stage.outputs["PipelineScript"], "entryPointArguments": arguments}
        },
    )["jobRunId"]
    stage.clean_later("the EMR run", lambda: client.cancel_job_run(applicationId=application, jobRunId=run))
    state = client.get_job_run(applicationId=application, jobRunId=run)["jobRun"]["state"]
    if state == "FAILED":
        raise Failed(f"the run {run} is {state}")
    return f"audit is {state}"
