"""The demo's functions are granted what they send."""

from __future__ import annotations

import re

from fanin_cdk.grants.handlers import WRITE_INDEX
from fanin_cdk.packaging.paths import FUNCTIONS


def test_the_index_of_the_demo_is_granted_what_it_sends():
    source = (FUNCTIONS / "demo" / "index.py").read_text()
    called = set(re.findall(r"self\.client\.(\w+)", source))
    actions = {"dynamodb:" + "".join(part.capitalize() for part in name.split("_")) for name in called}

    assert actions == set(WRITE_INDEX)
