"""The names that several rooms share: indexes, metrics, events and doorbells. Imports nothing of the project.

The infrastructure creates what the package uses under these names. A new value replaces the resource, or
ends the series of a metric, in every deployed stack.
"""

import hashlib

# Indexes of the tracker's table Batches.
NEXT_CHECK_INDEX = "due"
LIVE_BATCHES_INDEX = "live"
TENANT_INDEX = "byTenant"
USER_KEY_INDEX = "byUser"

# Indexes of the group-batcher's tables Tasks, Bundles and Leases.
OPEN_TASKS_INDEX = "open"
LIVE_BUNDLES_INDEX = "live"
LANE_INDEX = "lane"
TARGETS_INDEX = "targets"

# Indexes of the work queues' table, and what the index of jobs has beside the keys: enough to claim, free or
# promote a job.
JOBS_INDEX = "by_ix"
QUEUES_INDEX = "queues"
TENANT_QUEUES_INDEX = "by_tenant"
JOB_ATTRIBUTES = ("st", "session", "claim", "job_id", "deliveries", "ready_us", "claimed_us")

# The sort key of the rows of quotas in the table Batches; the archive leaves them out.
QUOTA_ROW = "quota"

# What ends with a batch: the fields of a request, the attributes of a row, and what FANIN_RESUMES lists.
RESUMED_TASK = "taskToken"
RESUMED_CALLBACK = "durableCallbackId"

# Events on the bus.
EVENT_SOURCE = "fanin"
BATCH_COMPLETED = "BatchCompleted"
BATCH_FAILED = "BatchFailed"
BATCH_CANCELLED = "BatchCancelled"
BATCH_TIMED_OUT = "BatchTimedOut"
BATCH_EXPIRED = "BatchExpired"
BATCH_PROGRESS = "BatchProgress"
TASK_FAILED = "TaskFailed"
TASK_SUCCEEDED = "TaskSucceeded"
BUNDLE_FAILED = "BundleFailed"
JOB_DEAD = "JobDead"
EVENTS = (
    BATCH_COMPLETED,
    BATCH_FAILED,
    BATCH_CANCELLED,
    BATCH_TIMED_OUT,
    BATCH_EXPIRED,
    BATCH_PROGRESS,
    TASK_FAILED,
    TASK_SUCCEEDED,
    BUNDLE_FAILED,
    JOB_DEAD,
)
OPTIONAL_EVENTS = (TASK_SUCCEEDED, BUNDLE_FAILED, JOB_DEAD)
"""The events that a stack publishes only if its setting ``events`` names them."""

# Metrics.
METRICS_NAMESPACE = "fanin"
BATCHES_OPENED = "BatchesOpened"
BATCHES_COMPLETED = "BatchesCompleted"
BATCHES_FAILED = "BatchesFailed"
BATCHES_FORCED = "BatchesForced"
BATCHES_CANCELLED = "BatchesCancelled"
BATCHES_TIMED_OUT = "BatchesTimedOut"
BATCHES_EXPIRED = "BatchesExpired"
OLDEST_BATCH_SECONDS = "OldestOpenBatchSeconds"
ITEMS_ADDED = "ItemsAdded"
ACKS_ACCEPTED = "AcksAccepted"
ACKS_DUPLICATE = "AcksDuplicate"
ACKS_REFUSED = "AcksRefused"
ACKS_RETURNED = "AcksReturned"
ACKS_DROPPED = "AcksDropped"
SWEEP_LOOKED = "SweepLooked"
SWEEP_REPAIRED = "SweepRepaired"
SWEEP_ANNOUNCED_AGAIN = "SweepAnnouncedAgain"
SWEEP_FAILED = "SweepFailed"
THRESHOLDS_REACHED = "ThresholdsReached"
WEBHOOKS_DELIVERED = "WebhooksDelivered"
WEBHOOKS_RETURNED = "WebhooksReturned"
WEBHOOKS_GIVEN_UP = "WebhooksGivenUp"
EVENTS_CONFIRMED = "EventsConfirmed"
EVENTS_IGNORED = "EventsIgnored"
TASKS_RESUMED = "TasksResumed"
TASKS_ENDED_BEFORE = "TasksEndedBefore"
RESUMES_RETURNED = "ResumesReturned"
WRITE_UNITS = "WriteUnits"
CONFLICTS = "Conflicts"
TASKS_REGISTERED = "TasksRegistered"
REGISTRATIONS_RETURNED = "RegistrationsReturned"
TASKS_BUNDLED = "TasksBundled"
TASK_MESSAGES = "TaskMessages"
TASK_MESSAGES_RETURNED = "TaskMessagesReturned"
LEADERS_ELECTED = "LeadersElected"
LEADERS_CONTENDED = "LeadersContended"
TAKEOVERS = "Takeovers"
BUNDLES_FILLED = "BundlesFilled"
BUNDLE_SIZE = "BundleSize"
BUNDLE_WAIT_SECONDS = "BundleWaitSeconds"
BUNDLE_MESSAGES = "BundleMessages"
BUNDLE_MESSAGES_RETURNED = "BundleMessagesReturned"
BUNDLE_CALLS = "BundleCalls"
BUNDLE_REPEATS = "BundleRepeats"
BUNDLES_LIMITED = "BundlesLimited"
BUNDLES_PUT_BACK = "BundlesPutBack"
LANES_WOKEN = "LanesWoken"
BUNDLES_WOKEN = "BundlesWoken"
JOBS_ADDED = "JobsAdded"
JOBS_REJECTED = "JobsRejected"
JOBS_QUEUED = "JobsQueued"
JOBS_IN_PROGRESS = "JobsInProgress"
JOBS_DELAYED = "JobsDelayed"
JOBS_DEAD = "JobsDead"
OLDEST_JOB_SECONDS = "OldestJobSeconds"


def camel(name: str) -> str:
    """Return the name in JSON of a field."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


DOORBELL_NAME_MAX = 80
"""Characters of the name of an SQS queue, which are A-Z a-z 0-9 - and _."""
OF_QUEUE, OF_TENANT = "queue-", "tenant-"
"""The kinds of doorbells that functions make, after the prefix; those of the stack have another one."""
DOORBELL_VISIBILITY_SECONDS = 180
"""Six times the timeout of a Lambda consumer, 30 s; a worker's receive sets its own, shorter one."""
DOORBELL_RETENTION_SECONDS = 3600
DOORBELL_POLL_SECONDS = 20


def doorbell_prefix(stage: str) -> str:
    """Return the prefix of the names of a stage's doorbells; no stage has ``_`` in its name."""
    return f"fanin-{stage}_bell_"


def doorbells_of(prefix: str, account: str, tenant: str, queue: str) -> list[str]:
    """Return the names that the doorbell of a queue can have: the stack's, where it makes one, and its own.

    The stack makes doorbells in the tenant of its *account*. The names of two queues differ: the kind ends at
    the first ``-``, and no name of a queue begins with ``_``, as a digest does.
    """
    if tenant != account:
        return [f"{prefix}{OF_TENANT}_{_digest(f'{tenant}#{queue}')}"]
    return [stack_doorbell(prefix, queue), _fitting(prefix + OF_QUEUE, queue)]


def stack_doorbell(prefix: str, queue: str) -> str:
    """Return the name of the doorbell that the stack makes for *queue*."""
    return _fitting(f"{prefix}stack-", queue)


def _fitting(beginning: str, queue: str) -> str:
    """Return *beginning* with the name of the queue, or with its digest where SQS does not allow the name."""
    name = beginning + queue
    return name if len(name) <= DOORBELL_NAME_MAX and "." not in queue else f"{beginning}_{_digest(queue)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
