"""The bounds of the numbers in a deployment's JSON, and the errors that name what is wrong."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper.settings.parsing import endpoints_of, policies_of


def refused(parse, row):
    with pytest.raises(InvalidRequest) as caught:
        parse([row])
    return caught.value


@pytest.mark.parametrize("pattern", [5, True, ["*"], {"a": 1}])
@pytest.mark.parametrize(
    ("parse", "row"), [(policies_of, {}), (endpoints_of, {"url": "https://a"})], ids=["policy", "batch API"]
)
def test_a_pattern_that_is_no_text_is_refused(parse, row, pattern):
    error = refused(parse, row | {"pattern": pattern})

    assert str(error).startswith("entry 1: each entry needs a pattern of target names")
    assert error.field == "pattern"
