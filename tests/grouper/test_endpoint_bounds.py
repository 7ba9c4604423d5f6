"""Batch APIs at the bounds of their settings, as a program builds them."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.grouper.settings.endpoints import Endpoint


def field_of(error):
    """The setting that a refusal names."""
    return error.value.field


@pytest.mark.parametrize("seconds", [-1, 0, 420.001, 421])
def test_any_other_timeout_is_refused(seconds):
    with pytest.raises(InvalidRequest, match="must be more than 0 and at most 420") as refused:
        Endpoint("*", "https://a", timeout=seconds)

    assert field_of(refused) == "timeoutSeconds"


@pytest.mark.parametrize("url", ["https://a:0/", "https://a:65536/", "https:///batch", "https://:443/", "a"])
def test_a_url_without_a_host_or_with_an_impossible_port_is_refused(url):
    with pytest.raises(InvalidRequest, match="must be an http") as refused:
        Endpoint("*", url)

    assert field_of(refused) == "url"
