"""Finds the API that a command talks to: --url, --stage, FANIN_URL, or the local run."""

from __future__ import annotations

import os
import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fanin.cli.terminal.exits import UsageError
from fanin.errors import InvalidRequest

if TYPE_CHECKING:
    from fanin.client.transports.http import HttpTransport
    from fanin.client.transports.signing import Sign

STACK_PREFIX = "Fanin-"
OUTPUT = "ApiUrl"
WAYS = (
    "--url URL, --stage NAME (output ApiUrl of the stack Fanin-NAME), the variable FANIN_URL,"
    " or one local run of this checkout (fanin local up)"
)
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
WHERE_OPTIONS = ("url", "stage", "profile", "region")
LOCAL_RUN = "the local run"
VISIBLE = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Site:
    """An API: its *url*, and how it was *found*. *region*: of the signatures, if the URL does not have it."""

    url: str
    found: str
    region: str | None = None

    @property
    def host(self) -> str:
        """Host and port of the URL."""
        return urlsplit(self.url).netloc

    def transport(self, **limits: Any) -> HttpTransport:
        """Return the transport to the API: with AWS signatures, or with the bearer token FANIN_TOKEN.

        *limits*: of ``HttpTransport``, such as ``attempts``.
        """
        from fanin.client.transports.http import HttpTransport  # noqa: PLC0415  # it takes 0.2 s, and `--help` needs none

        return HttpTransport(self.url, region=self.region, sign=self.bearer(), **limits)

    def bearer(self) -> Sign | None:
        """Return what adds FANIN_TOKEN to the headers of requests; None without it. Raises UsageError."""
        token = None if self.found == LOCAL_RUN else os.environ.get("FANIN_TOKEN")
        return _bearer(self.url, token) if token else None


@dataclass(frozen=True, slots=True)
class Where:
    """The options that say where the API is."""

    url: str | None = None
    stage: str | None = None
    profile: str | None = None
    region: str | None = None

    def site(self) -> Site:
        """Return the API. Raises UsageError, which lists the four ways, if none or several are found."""
        use_profile(self.profile, self.region)
        if self.url and self.stage:
            raise UsageError("--url and --stage exclude each other; give one of them")
        if self.url:
            return Site(_checked(self.url, "--url"), "--url", self.region)
        if self.stage:
            return Site(_url_of_stage(self.stage), f"--stage {self.stage}", self.region)
        if url := os.environ.get("FANIN_URL"):
            return Site(_checked(url, "FANIN_URL"), "FANIN_URL", self.region)
        return _local_site()


def use_profile(profile: str | None, region: str | None, env: MutableMapping[str, str] = os.environ) -> None:
    """Make AWS clients of this process use *profile* and *region*, as the options of the AWS CLI do.

    A profile that is named goes before access keys in the environment.
    """
    if profile:
        env["AWS_PROFILE"] = profile
        for name in KEYS:
            env.pop(name, None)
    if region:
        env["AWS_REGION"] = env["AWS_DEFAULT_REGION"] = region


def _checked(url: str, found: str) -> str:
    """Return *url*. Raises UsageError, which names where it was *found*, if it is not that of an API."""
    from fanin.client.transports.http import checked_url, is_loopback  # noqa: PLC0415  # see transport

    try:
        checked_url(url)
    except InvalidRequest:
        scheme = "http" if is_loopback(url.partition("/")[0].partition(":")[0]) else "https"
        hint = "" if "://" in url else f"; did you mean {scheme}://{url}?"
        raise UsageError(f"{found} is {url!r}, not https://host or https://host/stage{hint}") from None
    return url


def _url_of_stage(stage: str) -> str:
    """Return the output ApiUrl of the stage's stack. Raises UsageError if there is none."""
    from botocore.exceptions import ClientError  # noqa: PLC0415  # other ways need no AWS

    from fanin.aws import clients  # noqa: PLC0415  # with boto3 it takes 0.2 s

    name, stacks = f"{STACK_PREFIX}{stage}", clients.stacks()
    place = f"in {stacks.meta.region_name}"
    try:
        (stack,) = stacks.describe_stacks(StackName=name)["Stacks"]
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "ValidationError":
            raise
        raise UsageError(f"there is no stack {name} {place}; check --stage, --profile and --region") from None
    for output in stack.get("Outputs", ()):
        if output["OutputKey"] == OUTPUT:
            return output["OutputValue"]
    raise UsageError(f"the stack {name} {place} has no output {OUTPUT}: was it deployed with an API?")


def _local_site() -> Site:
    from fanin.local import run_directories  # noqa: PLC0415  # other ways need no local run

    runs = run_directories.meant(None)
    if len(runs) == 1:
        return Site(run_directories.answering(runs[0]).url, LOCAL_RUN)
    urls = f" ({', '.join(state.url for state in runs)})" if runs else ""
    found = f"{len(runs)} local runs{urls}" if runs else "no API"
    raise UsageError(f"found {found}; give {WAYS}")


def _bearer(url: str, token: str) -> Sign:
    """Return what adds the token to requests. Raises UsageError for a URL over which it would be readable."""
    from fanin.client.transports.http import is_loopback  # noqa: PLC0415  # see transport

    if not VISIBLE.fullmatch(token):
        raise UsageError("FANIN_TOKEN is not a token: it has spaces or control characters")
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise UsageError(f"FANIN_TOKEN is sent over https only, and the URL is {url}; unset it or use https")
    return lambda _method, _url, _body, headers: {**headers, "Authorization": f"Bearer {token}"}
