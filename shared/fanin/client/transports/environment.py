"""The transport of a client: the one that is given, or that of the environment, read at the first call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from fanin.aws.settings.tracking import Settings
from fanin.client.checks.checking import transport_given
from fanin.client.transports.transport import Transport
from fanin.errors import InvalidRequest

URL = "FANIN_URL"
TABLES = ("FANIN_BATCHES_TABLE", "FANIN_PAGES_TABLE", "FANIN_TENANT")


class Environment:
    """In place of a URL: the environment names the API or the tables."""


ENVIRONMENT = Environment()


def maker_of(to: str | Transport | Environment, region: str | None) -> Callable[[], Transport]:
    """Return the function that makes the transport; what is given is checked now."""
    if isinstance(to, Environment):
        return partial(transport_of_environment, region)
    given = _over_http(to, region) if isinstance(to, str) else transport_given(to)
    return lambda: given


def transport_of_environment(region: str | None = None, env: Mapping[str, str] | None = None) -> Transport:
    """Return the transport that *env* names, by default the process environment.

    It is over HTTP if ``FANIN_URL`` is set, else directly on the tables. Raises InvalidRequest, which names
    the variables, if neither is given.
    """
    env = os.environ if env is None else env
    if env.get(URL):
        return _over_http(env[URL], region)
    if missing := [name for name in TABLES if not env.get(name)]:
        raise InvalidRequest(_missing(missing))
    from fanin.client.transports.direct import DirectTransport  # noqa: PLC0415  # importing boto3 takes 0.3 s

    settings = Settings.from_env(env)
    places = settings.completions_bus, settings.results_bucket
    return DirectTransport.on(settings.tables, settings.tenant, settings.page_bits, *places)


def _missing(names: list[str]) -> str:
    """Return the sentence about missing variables; *names*: those of the tables that are not set."""
    found = "" if len(names) == len(TABLES) else f" ({', '.join(names)} missing)"
    return (
        f"Fanin() reads the API's URL from {URL}, or the tables from {TABLES[0]}, {TABLES[1]} and"
        f" {TABLES[2]}, and the environment has neither{found}; on this machine `fanin local env` prints them"
    )


def _over_http(url: str, region: str | None) -> Transport:
    from fanin.client.transports.http import HttpTransport  # noqa: PLC0415  # only HTTP needs urllib3

    return HttpTransport(url, region=region)
