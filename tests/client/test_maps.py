"""The client's map of a batch, and the filters of its list."""

from __future__ import annotations

from datetime import datetime

import pytest

from fanin import InvalidRequest
from fanin.tracker import TOTAL_MAX

BATCH = "00000000-0000-4000-8000-00000000dead"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"cells": 0}, "cells"),
        ({"cells": 1025}, "cells"),
        ({"cells": True}, "cells"),
        ({"start": -1}, "start"),
        ({"start": TOTAL_MAX}, "start"),
        ({"start": 5, "stop": 5}, "stop"),
        ({"stop": TOTAL_MAX + 1}, "stop"),
        ({"stop": "9"}, "stop"),
    ],
)
def test_a_window_out_of_bounds_is_refused_by_the_argument_s_name(fanin, given, field):
    with pytest.raises(InvalidRequest) as refusal:
        fanin.map(BATCH, **given)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"user_key": "a", "user_key_prefix": "a"}, "user_key_prefix"),
        ({"user_key_prefix": 5}, "user_key_prefix"),
        ({"opened_from": "2026-03-01T00:00:00Z"}, "opened_from"),
        ({"opened_to": datetime(2026, 3, 1)}, "opened_to"),  # without a zone on purpose
    ],
)
def test_a_filter_out_of_form_is_refused_by_the_argument_s_name(fanin, given, field):
    with pytest.raises(InvalidRequest) as refusal:
        fanin.batches(**given)
    assert refusal.value.field == field
