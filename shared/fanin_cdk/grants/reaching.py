"""How a function of the user reaches the tracker: its grants, its environment and the layer of the client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aws_cdk import Stack, Token
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin_cdk.grants.announcing import PUT_EVENTS
from fanin_cdk.grants.handlers import CONSUME_ACKS, ROUTES, Handler
from fanin_cdk.grants.job_handlers import RING
from fanin_cdk.settings.config import ConfigError

ROUTES_BY_NAME = {each.name: each for each in ROUTES}
OF_PUBLISHER = ("open_batch", "add_items", "close_batch", "cancel_batch", "get_batch")
OF_READER = ("get_batch", "list_batches", "get_outstanding", "get_failures", "get_results")


@dataclass(frozen=True, kw_only=True, slots=True)
class TableGrants:
    """DynamoDB actions on Batches and Pages, indexes of Batches to query, uses of the bucket of results."""

    batches: tuple[str, ...]
    pages: tuple[str, ...]
    indexes: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @classmethod
    def of(cls, handlers: Iterable[Handler]) -> TableGrants:
        """Return what *handlers* together are granted."""
        found = list(handlers)
        return cls(
            batches=_union(each.batches for each in found),
            pages=_union(each.pages for each in found),
            indexes=_union(each.indexes for each in found),
            results=_union(each.results for each in found),
        )


def _union(actions: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(sorted({each for some in actions for each in some}))


PUBLISH = TableGrants.of(ROUTES_BY_NAME[name] for name in OF_PUBLISHER)
ACK = TableGrants.of([CONSUME_ACKS])
READ = TableGrants.of(ROUTES_BY_NAME[name] for name in OF_READER)


def grant_tables(
    grantee: iam.IGrantable, grants: TableGrants, batches: dynamodb.ITable, pages: dynamodb.ITable
) -> iam.Grant:
    """Grant *grantee* what *grants* name on the two tables, and nothing else."""
    arns = [f"{batches.table_arn}/index/{name}" for name in grants.indexes]
    given = _grant(grantee, grants.batches, [batches.table_arn])
    given = given.combine(_grant(grantee, grants.pages, [pages.table_arn]))
    return given.combine(_grant(grantee, ("dynamodb:Query",), arns)) if arns else given


def grant_events(grantee: iam.IGrantable, bus: events.IEventBus) -> iam.Grant:
    """Grant *grantee* to put the events of the batches that it completes on *bus*."""
    return _grant(grantee, PUT_EVENTS, [bus.event_bus_arn])


def grant_jobs(
    grantee: iam.IGrantable,
    jobs: dynamodb.ITable,
    actions: Sequence[str],
    indexes: Sequence[str],
    doorbell: sqs.IQueue,
) -> iam.Grant:
    """Grant *actions* on the table of *jobs*, queries of its *indexes*, and rings of *doorbell*."""
    given = _grant(grantee, actions, [jobs.table_arn]).combine(_grant(grantee, RING, [doorbell.queue_arn]))
    arns = [f"{jobs.table_arn}/index/{name}" for name in indexes]
    return given.combine(_grant(grantee, ("dynamodb:Query",), arns)) if arns else given


def check_grantee(grantee: iam.IGrantable, place: Construct) -> None:
    """Raise ConfigError for a grantee of another account than *place*: its policies are not changed here."""
    # The principal of a function whose role is not known has no account.
    account = getattr(grantee.grant_principal, "principal_account", None)
    own = Stack.of(place).account
    if account is None or Token.is_unresolved(account) or Token.is_unresolved(own) or account == own:
        return
    raise ConfigError(
        f"a grantee is of the account {account}, and {place.node.path} of {own}: grant to a role of {own} "
        "that the other account may assume"
    )


def _grant(grantee: iam.IGrantable, actions: Sequence[str], arns: Sequence[str]) -> iam.Grant:
    given = iam.Grant.add_to_principal(grantee=grantee, actions=list(actions), resource_arns=list(arns))
    if not given.success:
        raise ConfigError("a grantee takes no policy, so nothing would be granted: name a role or a function")
    return given
