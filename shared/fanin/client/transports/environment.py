"""The transport of a client: the one that is given, or that of the environment, read at the first call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypedDict

from fanin.arguments import Seconds, seconds_of, text_or_none, whole
from fanin.client.argument_checks.checking import transport_given
from fanin.client.transports.transport import Transport
from fanin.errors import InvalidRequest
from fanin.settings.tracking import Settings, Tables

URL = "FANIN_URL"
TOKEN = "FANIN_TOKEN"  # noqa: S105  # the name of a variable
ATTEMPTS, ATTEMPTS_MAX = 5, 100
CALL_SECONDS = 60.0
"""Longer than API Gateway waits for one answer."""
TABLES = ("FANIN_BATCHES_TABLE", "FANIN_PAGES_TABLE", "FANIN_TENANT")


class Environment:
    """In place of a URL: the environment names the API or the tables."""

    def __repr__(self) -> str:
        return os.environ.get(URL) or "by the environment"


@dataclass(frozen=True, slots=True)
class Direct:
    """The tables of a client without an API, with what ``Fanin.direct`` takes beside them."""

    tables: Tables
    tenant: str
    page_bits: int
    bus: str | None
    results_bucket: str | None

    def __repr__(self) -> str:
        return f"on {self.tables.batches}"


ENVIRONMENT = Environment()
To = str | Transport | Environment | Direct


class ConnectionOptions(TypedDict, total=False):
    """How a client connects to the API.

    *token*: sent as ``Authorization: Bearer``, in place of AWS signatures. *timeout*: seconds that a call may
    take, with all its *attempts*. *session*: of boto3, whose credentials sign. *region*: that of the
    signatures, if the URL does not contain it.
    """

    token: str | None
    timeout: Seconds
    attempts: int
    session: Any
    region: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The options of :class:`ConnectionOptions`, checked."""

    token: str | None = field(default=None, repr=False)
    timeout: Seconds = CALL_SECONDS
    attempts: int = ATTEMPTS
    session: Any = field(default=None, repr=False)
    region: str | None = None

    def __post_init__(self) -> None:
        text_or_none(self.token, "a token", "token"), text_or_none(self.region, "a region", "region")
        seconds_of(self.timeout, "timeout"), whole(self.attempts, "attempts", 1, ATTEMPTS_MAX)
        if self.token is not None and self.session is not None:
            raise InvalidRequest("give a token, or a session that signs, not both", field="token")

    def over_http(self, url: str) -> Transport:
        """Return the transport to the API at *url*."""
        from fanin.client.transports.http import HttpTransport, bearer  # noqa: PLC0415  # only HTTP needs urllib3

        sign = None if self.token is None else bearer(self.token, url)
        return HttpTransport(
            url,
            region=self.region,
            sign=sign,
            session=self.session,
            attempts=self.attempts,
            call_seconds=seconds_of(self.timeout, "timeout"),
        )


def maker_of(to: To, connection: Connection) -> Callable[[], Transport]:
    """Return the function that makes the transport; what is given is checked now."""
    if isinstance(to, Environment):
        return partial(transport_of_environment, connection)
    if isinstance(to, Direct):
        return partial(_direct, to)
    given = connection.over_http(to) if isinstance(to, str) else transport_given(to)
    return lambda: given


def transport_of_environment(
    connection: Connection | None = None, env: Mapping[str, str] | None = None
) -> Transport:
    """Return the transport that *env* names, by default the process environment.

    It is over HTTP if ``FANIN_URL`` is set, with the token in ``FANIN_TOKEN`` if that is, else directly on
    the tables. Raises InvalidRequest, which names the variables, if neither is given.
    """
    env = os.environ if env is None else env
    connection = connection or Connection()
    if env.get(URL):
        token = connection.token or (None if connection.session else env.get(TOKEN) or None)
        return replace(connection, token=token).over_http(env[URL])
    if missing := [name for name in TABLES if not env.get(name)]:
        raise InvalidRequest(_missing(missing))
    own = Settings.from_env(env)
    places = own.completions_bus or None, own.results_bucket or None
    return _direct(Direct(own.tables, own.tenant, own.page_bits, *places))


def _direct(to: Direct) -> Transport:
    from fanin.client.transports.direct import DirectTransport  # noqa: PLC0415  # importing boto3 takes 0.3 s

    return DirectTransport.on(to.tables, to.tenant, to.page_bits, to.bus, to.results_bucket)


def _missing(names: list[str]) -> str:
    """Return the sentence about missing variables; *names*: those of the tables that are not set."""
    found = "" if len(names) == len(TABLES) else f" ({', '.join(names)} missing)"
    return (
        f"Fanin() reads the API's URL from {URL}, or the tables from {TABLES[0]}, {TABLES[1]} and"
        f" {TABLES[2]}, and the environment has neither{found}; on this machine `fanin local env` prints them"
    )
