"""The resources that alarms and the dashboard watch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_pipes as pipes
from aws_cdk import aws_sqs as sqs


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedTable:
    """A table and the names of its global secondary indexes, which are throttled apart from it."""

    table: dynamodb.ITable
    indexes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """All functions, the sweepers among them, and tables and queues by the name of their part.

    ``routes``: the functions of the API's routes. ``consumed``: the queues that a function of the stack
    consumes. ``readers``: the functions that read streams; the Pipe reads one, too.
    """

    functions: Sequence[lambda_.Function]
    routes: Sequence[lambda_.Function]
    sweepers: Sequence[lambda_.Function]
    readers: Sequence[lambda_.Function]
    queues: Mapping[str, sqs.IQueue]
    consumed: Mapping[str, sqs.IQueue]
    dead_letter_queues: Mapping[str, sqs.IQueue]
    tables: Mapping[str, WatchedTable]
    api: apigatewayv2.HttpApi
    pipe: pipes.CfnPipe

    @property
    def others(self) -> Sequence[lambda_.Function]:
        """The functions that no route has."""
        routes = {function.node.path for function in self.routes}
        return [function for function in self.functions if function.node.path not in routes]
