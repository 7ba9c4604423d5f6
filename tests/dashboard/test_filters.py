"""The filters of the page offer what the API takes: no other state, and no state that it would not list."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from tests.dashboard.pages import wait

ROOT = Path(__file__).parents[2]
API = json.loads((ROOT / "docs" / "openapi.json").read_text())


def states_of(path):
    """The states that a list of the API takes."""
    (state,) = [each["schema"] for each in API["paths"][path]["get"]["parameters"] if each["name"] == "state"]
    name = state.get("$ref", "").rpartition("/")[2]
    return state.get("enum") or API["components"]["schemas"][name]["enum"]


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("views/batches.js", "/v1/batches"),
        ("views/tasks.js", "/v1/tasks"),
        ("views/queues.js", "/v1/queues/{queue}/jobs"),
    ],
)
def test_the_states_of_a_filter_are_those_that_the_api_takes(module, path):
    text = resources.files("fanin.dashboard").joinpath("page", module).read_text()
    (states,) = re.findall(r"const STATES = (\[.*?\]);", text)

    assert sorted(json.loads(states)) == sorted(states_of(path))


def test_the_state_that_is_chosen_is_the_one_that_is_listed(api, dashboard, opens):
    api.instead["/v1/tasks.*"] = (200, {"tasks": []})
    api.instead["/v1/bundles.*"] = (200, {"bundles": []})
    page = opens(dashboard, "#/tasks/mail?state=DEAD")
    page.wait_for_selector("#task-state")

    assert page.input_value("#task-state") == "DEAD"
    assert {query["state"] for _, path, query in api.queries if path == "/v1/tasks"} == {"DEAD"}


def test_filters_that_the_api_refuses_can_be_changed(fanin, api, dashboard, opens):
    fanin.open("catalog-7")
    page = opens(dashboard)
    page.goto(page.url.partition("#")[0] + "#/batches?label=no-colon")
    wait(page, "Change the filters")
    page.fill("#label", "")
    page.click("form button")

    wait(page, "catalog-7")
