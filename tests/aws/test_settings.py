"""The environment, read strictly."""

from __future__ import annotations

import pytest

from fanin.errors import InvalidRequest
from fanin.settings.tracking import Settings, Tables

ENV = {"FANIN_BATCHES_TABLE": "b", "FANIN_PAGES_TABLE": "p", "FANIN_TENANT": "t"}


def test_the_defaults_accept_no_anonymous_request():
    assert Settings.from_env(ENV) == Settings(Tables("b", "p"), "t", page_bits=1024, allow_anonymous=False)


def test_what_is_set_is_read():
    env = ENV | {"FANIN_PAGE_BITS": "4", "FANIN_ALLOW_ANONYMOUS": "true"}

    assert Settings.from_env(env) == Settings(Tables("b", "p"), "t", page_bits=4, allow_anonymous=True)


@pytest.mark.parametrize("name", ENV)
def test_a_missing_name_is_named(name):
    with pytest.raises(InvalidRequest, match=name):
        Settings.from_env({key: value for key, value in ENV.items() if key != name})


@pytest.mark.parametrize("value", ["1", "1025", "-4", "4.0", "x", "", "٤"])
def test_a_page_size_that_no_page_can_have_is_refused(value):
    with pytest.raises(InvalidRequest, match="FANIN_PAGE_BITS"):
        Settings.from_env(ENV | {"FANIN_PAGE_BITS": value})
