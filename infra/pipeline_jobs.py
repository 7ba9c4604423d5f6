"""The jobs of ``pipeline/jobs`` as they are deployed, with all that each may do."""

from __future__ import annotations

from dataclasses import dataclass

from infra.handlers import CHANGE, CHANGE_PAGES, READ_PAGES

GET = ("dynamodb:GetItem",)
SCAN = ("dynamodb:Scan",)
TABLES = ("--region", "--batches-table", "--pages-table")


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineJob:
    """One job: ``pipeline.jobs.<name>``.

    ``batches``, ``pages``: the DynamoDB actions it is granted on each table, and no others.
    ``sends``: whether it sends to the queues of the configuration. ``opens``: whether it opens, fills and
    closes a batch over the API. ``reads_archive``: whether it reads the archive, where there is one.
    ``told``: its options that name a place of the deployment, with a default there.
    ``retries``: runs after one that failed; 0 where a failure is what the job found, not how it ended.
    ``scheduled``: whether it runs by the schedule of the configuration.
    """

    name: str
    batches: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    sends: bool = False
    opens: bool = False
    reads_archive: bool = False
    told: tuple[str, ...] = ()
    retries: int = 0
    scheduled: bool = False

    @property
    def title(self) -> str:
        """The name as constructs are named: ``FanOut``."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def label(self) -> str:
        """The name as resources are named: ``fan-out``."""
        return self.name.replace("_", "-")


JOBS = (
    PipelineJob(name="fan_out", sends=True, opens=True, told=("--region", "--api-url"), retries=1),
    PipelineJob(
        name="bulk_ack",
        batches=CHANGE,
        pages=CHANGE_PAGES,
        told=("--tenant", "--rejects", *TABLES),
    ),
    PipelineJob(name="reconcile", batches=SCAN, pages=SCAN, told=TABLES),
    PipelineJob(name="redrive", batches=GET, pages=READ_PAGES, sends=True, told=TABLES, retries=1),
    # What looks wrong in a Scan is looked at once more, row by row.
    PipelineJob(name="audit", batches=(*SCAN, *GET), pages=(*SCAN, *READ_PAGES), told=TABLES, scheduled=True),
    PipelineJob(name="history", reads_archive=True, told=("--archive", "--out"), scheduled=True),
)
