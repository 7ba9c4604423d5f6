"""The deployment's resources as defaults of the jobs' options."""

from __future__ import annotations

from aws_cdk import Aws

from fanin_cdk.constructs.archive import FOLDER
from fanin_cdk.tracker import FaninTracker
from infra.pipeline_jobs import JOBS, PipelineJob
from infra.spark_jobs.analytics_ground import Ground


class Places:
    """Defaults of the jobs' options: inputs are those of *tracker*, outputs go to the bucket of *ground*."""

    def __init__(self, ground: Ground, tracker: FaninTracker) -> None:
        self.bucket = ground.bucket
        self.tracker = tracker

    def defaults(self, job: PipelineJob) -> dict[str, str]:
        """Return the options of *job* that name a resource of the deployment, with its name or URL."""
        own = f"s3://{self.bucket.bucket_name}/{job.label}/"
        archive = self.tracker.archive
        places = {
            "--region": Aws.REGION,
            # The tenant of callers that sign with IAM.
            "--tenant": Aws.ACCOUNT_ID,
            "--api-url": self.tracker.api_url,
            "--batches-table": self.tracker.tables.batches.table_name,
            "--pages-table": self.tracker.tables.pages.table_name,
            "--rejects": own,
            "--out": own,
        }
        if archive:
            places["--archive"] = f"s3://{archive.bucket.bucket_name}/{FOLDER}"
        return {option: place for option, place in places.items() if option in job.defaults}

    def scheduled(self) -> list[PipelineJob]:
        """Return the scheduled jobs; one that reads the archive is among them if there is one."""
        return [job for job in JOBS if job.scheduled and (self.tracker.archive or not job.reads_archive)]
