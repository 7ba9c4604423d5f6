"""For tests of programs that use fanin: the production services in memory, and deliveries to handlers."""

from __future__ import annotations

from fanin.testing.clock import FakeClock
from fanin.testing.delivering import Delivered, deliver
from fanin.testing.fake import FakeFanin

__all__ = ["Delivered", "FakeClock", "FakeFanin", "deliver"]
