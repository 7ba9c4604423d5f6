"""Links of the source tree, rewritten for the site."""

from __future__ import annotations

import pytest

from website.links import for_site

TITLES = {"docs/client.md": "The Python client"}


@pytest.mark.parametrize(
    ("folder", "link", "there"),
    [
        ("", "[a](docs/client.md)", "[a](client.md)"),
        ("", "[a](docs/howto/sqs.md#b)", "[a](howto/sqs.md#b)"),
        ("", "![a picture](docs/flow.svg)", "![a picture](flow.svg)"),
        ("docs", "[a](../README.md#install)", "[a](index.md#install)"),
        ("docs", "[a](../CHANGELOG.md)", "[a](changelog.md)"),
        ("docs", "[a](client.md#ack)", "[a](client.md#ack)"),
        ("docs/howto", "[a](../client.md)", "[a](../client.md)"),
        ("docs/howto", "[a](../../README.md)", "[a](../index.md)"),
        ("docs", "[client.md](client.md#ack)", "[The Python client](client.md#ack)"),
        ("", "[docs/client.md](docs/client.md)", "[The Python client](client.md)"),
        ("docs", "[peers.md](peers.md)", "[peers.md](peers.md)"),
        ("docs", "[a](#b)", "[a](#b)"),
        ("docs", "[a](https://example.com/b.md)", "[a](https://example.com/b.md)"),
        ("docs", "[`a`](../functions/demo.py)", "`a`"),
    ],
)
def test_a_link_leads_to_the_page_of_the_site(folder, link, there):
    assert for_site(f"See {link}.", folder, TITLES) == f"See {there}."


def test_code_is_left_as_it_is():
    code = "```python\nx = a[b](docs/c.md)\n```"

    assert for_site(f"{code}\n", "", TITLES) == f"{code}\n"
