"""The batch APIs of a deployment as values: where a bundle is sent, and with which credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import cache
from urllib.parse import SplitResult, urlsplit

from fanin.errors import InvalidRequest
from fanin.grouper.settings.policy import CALL_LEASE_MAX, Policies, Policy

TIMEOUT, TIMEOUT_MAX = 10.0, CALL_LEASE_MAX / 2 / timedelta(seconds=1)
"""Seconds. The call has half of its lease; the rest is for storing the outcome."""
REFRESH_SECONDS, REFRESH_SECONDS_MAX = 900.0, 86_400.0
# Compiled at their first use: most functions parse no endpoint.
ACCOUNT = r"[a-z0-9-]+:[0-9]{12}"
# The ARN of a secret ends with six random characters; without them it names no single secret.
SECRET_ARN = rf"arn:aws[a-z-]*:secretsmanager:{ACCOUNT}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{{6}}"
KEY_ARN = rf"arn:aws[a-z-]*:kms:{ACCOUNT}:key/[A-Za-z0-9-]{{1,128}}"
FUNCTION_ARN = rf"arn:aws[a-z-]*:lambda:{ACCOUNT}:function:[A-Za-z0-9_-]{{1,64}}(:[A-Za-z0-9$_-]{{1,128}})?"
RESOURCE_ARN = r"arn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:[^*?\s]{1,1000}"
ACTION = r"[a-z0-9-]+:[A-Za-z0-9]+"
NAME = r"[a-z0-9-]{1,64}"
# Printable ASCII without a fragment, as it is sent and signed.
URL = r"https?://[\x21\x22\x24-\x7e]{1,2000}"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret of Secrets Manager whose value is a JSON object of header names and values.

    *key*: the customer managed KMS key that encrypts it, if one does. *refresh*: seconds after which it is
    read again.
    """

    arn: str
    key: str = ""
    refresh: float = REFRESH_SECONDS

    def __post_init__(self) -> None:
        matched("secret", self.arn, SECRET_ARN, "the whole ARN of a secret, with its six last characters")
        if self.key:
            matched("secretKey", self.key, KEY_ARN, "the ARN of a KMS key")
        if not 1 <= self.refresh <= REFRESH_SECONDS_MAX:
            raise InvalidRequest(
                f"secretSeconds must be 1 to {REFRESH_SECONDS_MAX:.0f}", field="secretSeconds"
            )


@dataclass(frozen=True, slots=True)
class Signing:
    """AWS signatures for *service* in *region*. *actions* on *resource* are granted to the function."""

    service: str
    region: str
    actions: tuple[str, ...]
    resource: str

    def __post_init__(self) -> None:
        matched("service", self.service, NAME, "the name of an AWS service, such as execute-api")
        matched("region", self.region, NAME, "the name of an AWS region")
        matched("resource", self.resource, RESOURCE_ARN, "an ARN without wildcards")
        if not self.actions:
            raise InvalidRequest("actions needs at least one IAM action", field="actions")
        for action in self.actions:
            matched("actions", action, ACTION, "IAM actions without wildcards, such as execute-api:Invoke")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The batch API of the targets that match *pattern*: an HTTP service at *url*, or a Lambda *function*.

    *timeout*: seconds. *secret*: has headers of each request. *signing*: signs each request.
    """

    pattern: str
    url: str = ""
    timeout: float = TIMEOUT
    function: str = ""
    secret: Secret | None = None
    signing: Signing | None = None

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= TIMEOUT_MAX:
            raise InvalidRequest(
                f"timeoutSeconds must be more than 0 and at most {TIMEOUT_MAX:.0f}", field="timeoutSeconds"
            )
        if self.function:
            self._check_function()
        else:
            self._check_url()

    def _check_function(self) -> None:
        matched("function", self.function, FUNCTION_ARN, "the ARN of a Lambda function, version or alias")
        if self.url or self.secret or self.signing:
            raise InvalidRequest("a function takes no url, secret or signing", field="function")

    def _check_url(self) -> None:
        parts = parts_of(self.url)
        if parts is None:
            raise InvalidRequest(
                f"the url of a batch API must be an http(s) URL of printable ASCII without a fragment, not "
                f"{self.url!r}",
                field="url",
            )
        if "@" in parts.netloc:
            raise InvalidRequest("the url has a user name; put credentials into a secret", field="url")
        if (self.secret or self.signing) and parts.scheme == "http" and not is_local(parts.hostname):
            raise InvalidRequest("credentials are sent over https only; change the url", field="url")


def check_timeouts(policies: Policies, endpoints: tuple[Endpoint, ...]) -> None:
    """Refuse a batch API whose timeout is too long for the lease of a call of its targets."""
    for endpoint in endpoints:
        for policy in _policies_for(endpoint.pattern, policies):
            if policy.call_timeout is None:
                policy.check_timeout("timeoutSeconds", timedelta(seconds=endpoint.timeout))


def _policies_for(pattern: str, policies: Policies) -> Iterator[Policy]:
    """Yield the policies that may apply to a target that matches *pattern*, until one applies to all."""
    for of, policy in (*policies.patterns, ("*", policies.default)):
        if overlap(of, pattern):
            yield policy
        if fnmatchcase(pattern, of):
            return


@cache
def overlap(one: str, other: str) -> bool:
    """Return whether a text can match both patterns; true if one has a ``[``, to be on the safe side."""
    if "[" in one + other:
        return True
    # Whether the rest of *one* and that of *other* overlap, for each rest of *other*: first the empty rest.
    rests = [not other[start:].strip("*") for start in range(len(other) + 1)]
    for char in reversed(one):
        row = [rests[-1] and char == "*"]
        for number in reversed(range(len(other))):
            if "*" in (char, other[number]):
                row.append(rests[number] or row[-1])
            else:
                row.append(rests[number + 1] and (char == other[number] or "?" in (char, other[number])))
        rests = row[::-1]
    return rests[0]


def parts_of(url: str) -> SplitResult | None:
    """Return the parts of an absolute URL; None for any other text."""
    try:
        parts = urlsplit(url)
        is_valid = bool(re.fullmatch(URL, url) and parts.hostname and parts.port != 0)
    except ValueError:
        return None
    return parts if is_valid else None


def is_local(host: str | None) -> bool:
    """Return whether *host* is this machine."""
    return host in ("127.0.0.1", "localhost", "::1")


def matched(name: str, text: str, form: str, takes: str) -> None:
    """Raise InvalidRequest unless *text* has the form; *takes*: what it has to be."""
    if not re.fullmatch(form, text):
        raise InvalidRequest(f"{name} is {text!r}; it takes {takes}", field=name)
