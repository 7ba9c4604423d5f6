"""Which requests the dashboard accepts: of its own host, one browser, known paths; reads by default.

A browser sends the requests of any page to any port on loopback, so each check excludes one way in:

* Host: a page whose name resolves to 127.0.0.1 (DNS rebinding) sends its own name.
* Cookie: other programs and other users of this machine do not have it, and SameSite=Strict keeps it from
  requests that pages of other sites start.
* Sec-Fetch-Site: a page on another port of loopback counts as the same site and has the cookie sent.
* Origin and a header of our own: a form cannot set the header, and a script of another origin is refused
  the preflight.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from fanin.dashboard.problems import (
    FOREIGN,
    MISDIRECTED,
    NO_METHOD,
    NOT_FOUND,
    NOT_OPENED,
    READ_ONLY,
)
from fanin.errors import Refusal

OWN_HEADER = "x-fanin-dashboard"
TOKEN = "t"  # noqa: S105  # the name of the query parameter
OWN_SITES = frozenset({"same-origin", "none"})
QUERY_MAX = 4096

_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
READS = re.compile(
    rf"/v1/(?:batches(?:/{_ID}(?:/(?:map|failures|outstanding|children|origin|results))?)?"
    rf"|targets|(?:tasks|bundles)(?:/{_NAME})?|queues(?:/{_NAME}(?:/(?:jobs|sessions))?)?)"
)
FOLLOWED = re.compile(rf"/streams/({_ID})")
WRITES = re.compile(rf"/v1/batches/{_ID}/(?:close|cancel|notify)")


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived: *headers* by lower-case name, each with all its values."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def values(self, name: str) -> list[str]:
        """Return the values of a header, none if it is not there."""
        return [value.strip() for value in self.headers.get(name, ())]


@dataclass(slots=True)
class Door:
    """Checks requests to the dashboard on *port*; the token opens it once, and the cookie stays."""

    port: int
    allow_writes: bool = False
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _is_used: bool = False

    @property
    def address(self) -> str:
        """The address that opens the dashboard, once."""
        return f"http://127.0.0.1:{self.port}/?{TOKEN}={self.token}"

    @property
    def cookie(self) -> str:
        """The value of Set-Cookie; cookies are shared by all ports of a host, so the name has the port."""
        return f"{self._cookie_name}={self.secret}; HttpOnly; SameSite=Strict; Path=/"

    def opens(self, request: Request) -> bool:
        """Return whether *request* has the token, which no later request may use."""
        given = parse_qs(request.query).get(TOKEN, [""])[0]
        with self._lock:
            fits = not self._is_used and _equal(given, self.token)
            self._is_used = self._is_used or fits
        return fits

    def refusal_before_opening(self, request: Request) -> Refusal | None:
        """Return why *request* is refused from any sender, or None: host, then method."""
        hosts = request.values("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return MISDIRECTED
        if request.method == "POST":
            return None if self.allow_writes else READ_ONLY
        return None if request.method == "GET" else NO_METHOD

    def refusal(self, request: Request) -> Refusal | None:
        """Return why *request* is refused, or None: cookie, then origin, then path of the API."""
        if not self.is_open_for(request):
            return NOT_OPENED
        if not self._is_own(request):
            return FOREIGN
        if request.path.startswith("/v1/") or request.method == "POST":
            allowed = WRITES if request.method == "POST" else READS
            return None if allowed.fullmatch(request.path) and len(request.query) <= QUERY_MAX else NOT_FOUND
        return None

    def is_open_for(self, request: Request) -> bool:
        """Return whether *request* has the cookie, beside any others: those of all ports are sent together.

        The parser of ``http.cookies`` drops what follows a cookie that it does not accept.
        """
        pairs = (each.strip().partition("=") for text in request.values("cookie") for each in text.split(";"))
        return any(name == self._cookie_name and _equal(value, self.secret) for name, _, value in pairs)

    def _is_own(self, request: Request) -> bool:
        if not OWN_SITES.issuperset(request.values("sec-fetch-site")):
            return False
        origins = request.values("origin")
        if not all(origin in self._origins for origin in origins):
            return False
        return request.method == "GET" or (len(origins) == 1 and any(request.values(OWN_HEADER)))

    @property
    def _hosts(self) -> frozenset[str]:
        return frozenset({f"127.0.0.1:{self.port}", f"localhost:{self.port}"})

    @property
    def _origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self._hosts)

    @property
    def _cookie_name(self) -> str:
        return f"fanin-{self.port}"


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())
