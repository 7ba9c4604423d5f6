"""Refusals of the dashboard itself, as problem documents of RFC 9457."""

from __future__ import annotations

from functools import partial

from fanin.errors import Refusal

dashboard_refusal = partial(Refusal, namespace="dashboard")

MISDIRECTED = dashboard_refusal(
    421,
    "misdirected-request",
    "This server answers to its loopback address only",
    "open the address that `fanin dashboard` printed",
)
NOT_OPENED = dashboard_refusal(
    401,
    "not-opened",
    "This browser has not opened the dashboard",
    "the address that `fanin dashboard` printed works once; run the command again for a new one",
)
FOREIGN = dashboard_refusal(
    403,
    "foreign-request",
    "Only the dashboard's own page may ask this",
    "a write needs the header X-Fanin-Dashboard and the page's own Origin",
)
READ_ONLY = dashboard_refusal(
    405,
    "read-only",
    "The dashboard is read-only",
    "start it with --allow-writes to close, cancel and notify",
)
NO_METHOD = dashboard_refusal(
    405, "method-not-allowed", "The dashboard has no such method", "it answers GET and POST"
)
NOT_FOUND = dashboard_refusal(404, "not-found", "The dashboard has no such page", "its page is at /")
BODY_TOO_LARGE = dashboard_refusal(
    413, "too-large", "The body is too large", "a body of a write has at most 4,096 bytes"
)
NO_LENGTH = dashboard_refusal(
    411, "no-length", "The body has no length", "send Content-Length, and no Transfer-Encoding"
)
TOO_MANY_STREAMS = dashboard_refusal(
    503, "too-many-streams", "The dashboard has no room for another stream", "the page polls without one"
)
