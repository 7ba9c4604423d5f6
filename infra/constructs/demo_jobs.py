"""A Lambda consumer of a work queue, as a user adds one; deployed only with the context ``demo=true``."""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from fanin_cdk.constructs.functions import allow
from fanin_cdk.constructs.jobs import FaninQueues
from fanin_cdk.constructs.queues import feed
from fanin_cdk.constructs.tables import table
from fanin_cdk.grants.job_handlers import DEMO_JOBS, WRITE_OUTCOME
from fanin_cdk.settings.config import Config
from infra.config import DEMO_QUEUE

# Jobs of one invocation are acked or released together, unless the handler does it one by one.
JOBS_AT_ONCE = 10


class DemoJobs(Construct):
    """The consumer of the work queue ``demo``, and the table of its outcomes; it writes *index* too."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, jobs: FaninQueues, index: dynamodb.ITable
    ) -> None:
        super().__init__(scope, id_)
        self.outcomes = table(self, "Outcomes", config)
        written = {"FANIN_OUTCOMES_TABLE": self.outcomes.table_name, "FANIN_INDEX_TABLE": index.table_name}
        consumer = jobs.add(DEMO_JOBS, written, DEMO_QUEUE)
        allow(consumer, self.outcomes, WRITE_OUTCOME)
        allow(consumer, index, WRITE_OUTCOME)
        feed(jobs.doorbells[DEMO_QUEUE], consumer, config, JOBS_AT_ONCE)
