"""One client for each AWS service and process, with the retries and timeouts that the protocols assume.

botocore makes them, because importing boto3 for its resources takes as much CPU again. A program that set up
boto3's default session gets the clients of that session.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from botocore.config import Config
from botocore.loaders import Loader
from botocore.session import Session

from fanin.aws.forking import PerProcess, is_forked
from fanin.aws.limits import (
    ANNOUNCE_CONNECT_SECONDS,
    ANNOUNCE_READ_SECONDS,
    ATTEMPTS,
    CONNECT_SECONDS,
    INVOCATION_SECONDS,
    POLL_READ_SECONDS,
    READ_SECONDS,
)

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

SERVICES = ("cloudformation", "dynamodb", "events", "lambda", "s3", "secretsmanager", "sqs", "stepfunctions")
# A request that timed out is retried: every write is conditional, so a second copy has no effect.
RETRIES = Config(
    retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    max_pool_connections=40,
)
# The caller of a function decides whether it is called again.
INVOCATIONS = RETRIES.merge(Config(retries={"total_max_attempts": 1}, read_timeout=INVOCATION_SECONDS))
# The stream sends what this attempt does not.
ANNOUNCEMENTS = RETRIES.merge(
    Config(
        retries={"total_max_attempts": 1},
        connect_timeout=ANNOUNCE_CONNECT_SECONDS,
        read_timeout=ANNOUNCE_READ_SECONDS,
    )
)
# botocore signs links of some regions by version 2, which S3 refuses for new buckets, and for a key of KMS.
SIGNED_LINKS = RETRIES.merge(Config(signature_version="s3v4"))
# Its requests have no values of users that are not checked before.
LONG_POLLS = RETRIES.merge(Config(read_timeout=POLL_READ_SECONDS, parameter_validation=False))
C = TypeVar("C")


class ProcessClient:
    """Forwards to the client of the current process, so that its owner can fork."""

    def __init__(self, own: PerProcess[Any]) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own(), name)


class Service(Generic[C]):
    """Returns the client of an AWS service, always the same; each process has its own connections."""

    def __init__(self, name: str, config: Config) -> None:
        self._make = partial(_client, name, config)
        self._own = PerProcess(self._make)
        self._client = cast("C", ProcessClient(self._own))

    def __call__(self) -> C:
        self._own()  # at the cold start, not at the first request
        return self._client

    def within(self, region: str) -> C:
        """Return the client, or a new one of another *region*."""
        if self().meta.region_name == region:  # type: ignore[attr-defined]
            return self._client
        return cast("C", ProcessClient(PerProcess(partial(self._make, region))))

    def later(self) -> C:
        """Return the client, which is created when it is first used."""
        return self._client

    def cache_clear(self) -> None:
        """Create a new client at the next use, from the environment at that time."""
        self._own.clear()


def _client(service: str, config: Config, region: str | None = None) -> Any:
    default = getattr(sys.modules.get("boto3"), "DEFAULT_SESSION", None)
    if default is None:
        own = _own_session()
        return own.create_client(service, region, config=config.merge(Config(user_agent=_agent(own))))
    session = _session_of_child(default) if is_forked() else default
    return session.client(service, region, config=config)  # type: ignore[call-overload]


def _agent(session: Session) -> str:
    """Return the user agent of each request, which botocore would make anew, twice for each of them.

    That takes a fifth of the processor time of a small request.
    """
    app = session.get_config_variable("user_agent_appid")
    return f"{session.user_agent()} app/{app}" if app else session.user_agent()


def _session_of_child(default: boto3.Session) -> boto3.Session:
    """Return a session with the options of *default*, whose connections and locks are the parent's."""
    profile = None if default.profile_name == "default" else default.profile_name
    given = default.get_credentials()
    if given is None or given.method != "explicit":
        return type(default)(profile_name=profile, region_name=default.region_name)
    keys = given.get_frozen_credentials()
    return type(default)(keys.access_key, keys.secret_key, keys.token, default.region_name)


def _session() -> Session:
    """Return a session of botocore that loads the models of ``SERVICES`` without a search for others."""
    session = Session()
    session.register_component("data_loader", _Models(_folders(session.get_config_variable("data_path"))))
    return session


def _folders(paths: str | None) -> list[str]:
    """Return the folders in ``AWS_DATA_PATH``, in which botocore looks for models before its own."""
    return [os.path.expandvars(os.path.expanduser(path)) for path in paths.split(os.pathsep)] if paths else []


class _Models(Loader):
    """botocore's loader, which lists the 400 directories of all services twice to know that one exists."""

    def list_available_services(self, type_name: str) -> list[str]:  # noqa: ARG002  # each has both types
        return list(SERVICES)


_own_session = PerProcess(_session)

dynamodb: Service[DynamoDBClient] = Service("dynamodb", RETRIES)
sqs: Service[SQSClient] = Service("sqs", RETRIES)
long_polls: Service[SQSClient] = Service("sqs", LONG_POLLS)
"""SQS with a read timeout for long polls; for workers."""
events: Service[EventBridgeClient] = Service("events", RETRIES)
announcements: Service[EventBridgeClient] = Service("events", ANNOUNCEMENTS)
"""EventBridge with one attempt and short timeouts; for events that the stream sends too."""
s3: Service[S3Client] = Service("s3", SIGNED_LINKS)
functions: Service[LambdaClient] = Service("lambda", INVOCATIONS)
secrets: Service[Any] = Service("secretsmanager", RETRIES)
workflows: Service[Any] = Service("stepfunctions", RETRIES)
callbacks: Service[Any] = Service("lambda", RETRIES)
"""Lambda with retries; for callbacks of durable functions."""
stacks: Service[CloudFormationClient] = Service("cloudformation", RETRIES)
