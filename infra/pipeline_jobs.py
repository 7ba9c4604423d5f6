"""The jobs of ``pipeline/jobs`` as they are deployed, and what each is granted."""

from __future__ import annotations

from dataclasses import dataclass

from fanin_cdk.grants.handlers import CHANGE, CHANGE_PAGES, READ_PAGES

GET = ("dynamodb:GetItem",)
SCAN = ("dynamodb:Scan",)
TABLES = ("--region", "--batches-table", "--pages-table")


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineJob:
    """One job: ``pipeline.jobs.<name>``.

    ``batches``, ``pages``: the DynamoDB actions it is granted on each table, and no others.
    ``sends``: whether it sends to the configured queues. ``opens``: whether it opens, fills and closes a
    batch over the API. ``reads_archive``: whether it reads the archive, if there is one.
    ``defaults``: its options that get the deployment's resources as defaults.
    ``retries``: runs after one that failed; 0 for a job that exits with 1 to report what it found.
    ``scheduled``: whether it runs on the configured schedule.
    """

    name: str
    batches: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    sends: bool = False
    opens: bool = False
    reads_archive: bool = False
    defaults: tuple[str, ...] = ()
    retries: int = 0
    scheduled: bool = False

    @property
    def title(self) -> str:
        """The name in the form of construct ids: ``FanOut``."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def label(self) -> str:
        """The name in the form of resource names: ``fan-out``."""
        return self.name.replace("_", "-")


JOBS = (
    PipelineJob(name="fan_out", sends=True, opens=True, defaults=("--region", "--api-url"), retries=1),
    PipelineJob(
        name="bulk_ack",
        batches=CHANGE,
        pages=(*CHANGE_PAGES, "dynamodb:PartiQLInsert"),
        reads_archive=True,
        defaults=("--tenant", "--rejects", *TABLES),
    ),
    # By the tenant it reads the pages of the batch; without, as on EMR, it scans.
    PipelineJob(
        name="reconcile",
        batches=(*SCAN, *GET),
        pages=(*SCAN, *READ_PAGES),
        defaults=("--tenant", *TABLES),
    ),
    PipelineJob(name="redrive", batches=GET, pages=READ_PAGES, sends=True, defaults=TABLES, retries=1),
    # The audit rechecks what looks wrong in a Scan by consistent reads of single rows.
    PipelineJob(
        name="audit", batches=(*SCAN, *GET), pages=(*SCAN, *READ_PAGES), defaults=TABLES, scheduled=True
    ),
    PipelineJob(name="history", reads_archive=True, defaults=("--archive", "--out"), scheduled=True),
)
