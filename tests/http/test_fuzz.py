"""A slice of `make fuzz` over HTTP: the gateway and the functions answer broken requests as published."""

from __future__ import annotations

import pytest

from tests.fuzz import over_http

REQUESTS = 40


@pytest.mark.side_by_side
def test_a_broken_request_gets_an_answer_as_published_and_no_server_error(run):
    judge = over_http.run(run.url, REQUESTS, seed=16)

    assert judge.wrong == []
    assert judge.answers.total() == REQUESTS
