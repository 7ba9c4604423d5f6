"""The dashboard: a page for one browser on this machine, and a server that signs its requests to the API."""

from __future__ import annotations

from fanin.dashboard.server import Dashboard, start
from fanin.dashboard.upstream import Upstream, upstream_of

__all__ = ["Dashboard", "Upstream", "start", "upstream_of"]
