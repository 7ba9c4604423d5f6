"""The resources that alarms and the dashboard watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs

from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.constructs.triggers import Reader


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedTable:
    """A table and the names of its global secondary indexes, which are throttled apart from it."""

    table: dynamodb.ITable
    indexes: Sequence[str] = ()


@dataclass(kw_only=True, slots=True)
class Watched:
    """All functions, the sweepers among them, and tables and queues by the name of their part; each adds its.

    ``routes``: the functions of the API, if there is one. ``access_log``: that of the API. ``consumed``: the
    queues that a function of the stack consumes. ``readers``: the functions that read streams.
    """

    functions: Sequence[lambda_.Function]
    api: apigatewayv2.HttpApi | None = None
    access_log: logs.ILogGroup | None = None
    routes: Sequence[lambda_.Function] = ()
    sweepers: list[lambda_.Function] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    queues: dict[str, sqs.IQueue] = field(default_factory=dict)
    consumed: dict[str, sqs.IQueue] = field(default_factory=dict)
    dead_letter_queues: dict[str, sqs.IQueue] = field(default_factory=dict)
    tables: dict[str, WatchedTable] = field(default_factory=dict)

    def add(self, queues: Mapping[str, SourceQueue]) -> None:
        """Add queues that a function of the stack consumes, with their dead-letter queues."""
        self.queues |= {name: each.queue for name, each in queues.items()}
        self.consumed |= {name: each.queue for name, each in queues.items()}
        self.dead_letter_queues |= {name: each.dead_letter_queue for name, each in queues.items()}

    @property
    def others(self) -> Sequence[lambda_.Function]:
        """The functions that serve no route."""
        routes = {function.node.path for function in self.routes}
        return [function for function in self.functions if function.node.path not in routes]
