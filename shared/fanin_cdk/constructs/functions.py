"""The Lambda functions: one zip of code, one layer, one role each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import Aws, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from fanin.grouper.settings.endpoints import Secret
from fanin.names import METRICS_NAMESPACE
from fanin_cdk.constructs.tables import Tables
from fanin_cdk.grants import announcing
from fanin_cdk.grants.handlers import Handler
from fanin_cdk.grants.results import let
from fanin_cdk.nag import accept
from fanin_cdk.packaging.layer import Build
from fanin_cdk.packaging.packages import layer_code, own_code
from fanin_cdk.settings.config import Config
from fanin_cdk.stages import unique_name


class Functions(Construct):
    """Makes Lambda functions of Handlers, each with the tracker's environment and the grants it names."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        config: Config,
        tables: Tables,
        packages: lambda_.Code | None = None,
        results: s3.IBucket | None = None,
    ) -> None:
        """*packages*: the layer of third-party packages. Default: it is built at the synthesis.
        *results*: the bucket of results.
        """
        super().__init__(scope, id_)
        self.config, self.tables, self.results = config, tables, results
        self.defined: list[lambda_.Function] = []
        self._completing: list[lambda_.Function] = []
        self._bus: events.IEventBus | None = None
        self.runtime = lambda_.Runtime(f"python{config.python_version}", lambda_.RuntimeFamily.PYTHON)
        build = Build.for_config(config, is_built=Stack.of(self).bundling_required)
        self.layer = lambda_.LayerVersion(
            self,
            "Packages",
            code=packages or layer_code(build),
            # The emulator of the local run ignores both, so the two templates stay the same.
            compatible_architectures=[lambda_.Architecture.ARM_64],
            compatible_runtimes=[self.runtime],
        )
        self.code = own_code(self, build, config)
        if config.python_version != Config().python_version:
            accept(self, "The configuration asks for this runtime", "AwsSolutions-L1")

    def add(self, handler: Handler, environment: Mapping[str, str] | None = None) -> lambda_.Function:
        """Deploy *handler* with the tracker's environment, then *environment*, and the grants it names."""
        own = Construct(self, id_of(handler.name))
        group = log_group(own, "Logs", self.config)
        function = lambda_.Function(
            own,
            "Function",
            runtime=self.runtime,
            architecture=lambda_.Architecture.ARM_64,
            handler=f"functions.{handler.name}.handler",
            code=self.code,
            layers=[self.layer],
            role=self._role(own, group),
            timeout=Duration.seconds(handler.timeout_seconds),
            memory_size=handler.memory,
            environment={**self._environment(), **(environment or {})},
            tracing=lambda_.Tracing.ACTIVE if self.config.monitoring == "full" else None,
            logging_format=lambda_.LoggingFormat.JSON,
            log_group=group,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if handler.loops else None,
        )
        self._allow(function, handler)
        self.defined.append(function)
        if announcing.can_complete(handler.pages):
            self._completing.append(function)
            if self._bus:
                announcing.let_put(function, self._bus)
        return function

    def _allow(self, function: lambda_.Function, handler: Handler) -> None:
        """Grant *function* what *handler* names on the tracker's tables."""
        allow(function, self.tables.batches, handler.batches)
        allow(function, self.tables.pages, handler.pages)
        _allow_indexes(function, self.tables.batches, handler.indexes)
        if self.results and handler.results:
            let(function, self.results, handler.results)

    def add_publisher(self, handler: Handler, bus: events.IEventBus) -> lambda_.Function:
        """Deploy *handler*, which may put events on *bus*."""
        function = self.add(handler, {"FANIN_BUS_NAME": bus.event_bus_name})
        announcing.allow_put(function, bus)
        return function

    def put_completions_on(self, bus: events.IEventBus) -> None:
        """Let each function that can complete a batch, added before or after, put its event on *bus*."""
        self._bus = bus
        for function in self._completing:
            announcing.let_put(function, bus)

    def of(self, name: str) -> list[lambda_.Function]:
        """Return the functions of the handler *name*: one, or none if it is not deployed."""
        return [each for each in self.defined if name_of(each) == id_of(name)]

    def _role(self, scope: Construct, group: logs.LogGroup) -> iam.Role:
        role = iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(role)
        if self.config.monitoring == "full":
            accept(role, "X-Ray's write actions take no resource", "AwsSolutions-IAM5[Resource::*]")
        return role

    def _environment(self) -> dict[str, str]:
        anonymous = {"FANIN_ALLOW_ANONYMOUS": "true"} if self.config.target == "local" else {}
        claims = {
            "FANIN_JWT_TENANT_CLAIM": self.config.jwt_tenant_claim,
            "FANIN_JWT_CALLER_CLAIM": self.config.jwt_caller_claim,
        }
        return {
            "FANIN_BATCHES_TABLE": self.tables.batches.table_name,
            "FANIN_PAGES_TABLE": self.tables.pages.table_name,
            "FANIN_TENANT": Aws.ACCOUNT_ID,
            "FANIN_PAGE_BITS": str(self.config.page_bits),
            "POWERTOOLS_SERVICE_NAME": service_name(self.config),
            "POWERTOOLS_METRICS_NAMESPACE": METRICS_NAMESPACE,
            **({"FANIN_RESULTS_BUCKET": self.results.bucket_name} if self.results else {}),
            **anonymous,
            **({"POWERTOOLS_METRICS_DISABLED": "true"} if self.config.monitoring == "off" else {}),
            **(claims if self.config.jwt_issuer else {}),
        }


def tenant_of_messages(config: Config) -> dict[str, str]:
    """Return the variable of the tenant of the stack's own queues, if it is configured."""
    return {"FANIN_TENANT": config.acks_tenant} if config.acks_tenant else {}


def service_name(config: Config) -> str:
    """Return the service name of the stage's logs and metrics, which differs between stages."""
    return f"fanin-{config.stage}"


def id_of(name: str) -> str:
    """Return the handler's *name* in the form of construct ids: ``ApiReadTasks`` for ``api.read_tasks``."""
    return "".join(part.capitalize() for part in re.split(r"[._]", name))


def name_of(function: lambda_.Function) -> str:
    """Return the name of the function's handler in the form of construct ids."""
    return function.node.path.split("/")[-2]


def allow(function: lambda_.Function, table: dynamodb.ITable, actions: Sequence[str]) -> None:
    """Grant *actions* on *table*; nothing if empty."""
    if actions:
        function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=[table.table_arn]))


def _allow_indexes(function: lambda_.Function, table: dynamodb.ITable, names: Sequence[str]) -> None:
    """Grant *function* Query on the named indexes of *table*, and no others."""
    if names:
        arns = [f"{table.table_arn}/index/{name}" for name in names]
        function.add_to_role_policy(iam.PolicyStatement(actions=["dynamodb:Query"], resources=arns))


def log_group(
    scope: Construct, id_: str, config: Config, name: str | None = None, key: kms.IKey | None = None
) -> logs.LogGroup:
    """Return a log group that is deleted with the stack.

    *name*: for a service that requires one. *key*: its KMS key. Default: CloudWatch's.
    """
    group = logs.LogGroup(
        scope, id_, log_group_name=name, encryption_key=key, removal_policy=RemovalPolicy.DESTROY
    )
    resource = cast(logs.CfnLogGroup, group.node.default_child)
    resource.retention_in_days = config.log_retention_days
    return group


def vended_logs(scope: Construct, id_: str, config: Config) -> logs.LogGroup:
    """Return a log group for a service that writes to it by a resource policy of CloudWatch Logs.

    Such a service adds each group to a policy of the account and region of at most 5,120 characters, and
    fails when that is full. Groups below ``/aws/vendedlogs/`` are one entry of it (AWS Step Functions
    Developer Guide, Avoiding CloudWatch Logs resource policy size restrictions).
    """
    return log_group(scope, id_, config, f"/aws/vendedlogs/fanin/{unique_name(scope)}")


def allow_secret(function: lambda_.Function, secret: Secret) -> None:
    """Grant *function* the value of *secret*, and the use of its KMS key by Secrets Manager alone."""
    read = iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[secret.arn])
    function.add_to_role_policy(read)
    if secret.key:
        region = secret.arn.split(":")[3]
        via = {"StringEquals": {"kms:ViaService": f"secretsmanager.{region}.{Aws.URL_SUFFIX}"}}
        statement = iam.PolicyStatement(actions=["kms:Decrypt"], resources=[secret.key], conditions=via)
        function.add_to_role_policy(statement)
