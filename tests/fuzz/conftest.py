"""One deployment, with two tenants that have something of each kind, for all tests of the room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.fuzz.deployment import ACCOUNT, deployment
from tests.fuzz.tenants import Tenant


@dataclass(frozen=True)
class Both:
    owner: Tenant
    other: Tenant


@pytest.fixture(scope="package")
def both() -> Iterator[Both]:
    with deployment():
        yield Both(Tenant(ACCOUNT).fill(), Tenant("222233334444").fill())
