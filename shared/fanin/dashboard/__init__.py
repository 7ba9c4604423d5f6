"""The dashboard: a page for one browser on this machine, and a server that signs its requests to the API.

The promise: only the browser that was signed in reaches the API through it, on known paths, and by default
reads only; no credentials reach the browser or a log. It stores nothing.

A request: refused, answered from ``page/``, sent upstream, or answered by a stream of looks at a batch.

Read in this order: ``request_checks.py``: which requests are accepted, and why. ``server.py``: the HTTP
server. ``upstream.py``: the signed request. ``streams.py``: the streams. ``problems.py``: refusals.
``page/app.js``: the page.
"""

from __future__ import annotations

from fanin.dashboard.server import Dashboard, start
from fanin.dashboard.upstream import Upstream, upstream_of

__all__ = ["Dashboard", "Upstream", "start", "upstream_of"]
