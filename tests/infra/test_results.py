"""With `results`, what each function may do with the objects of the bucket of results."""

from __future__ import annotations

import json

import pytest

from tests.infra.synthesis import handler_of, synthesised
from tests.infra.test_alarms import OFF
from tests.infra.test_functions import grants_of

KEEP = {("s3:PutObject", "/results/*/parts/*")}
ALL, MANIFEST, LIST = "/results/*", "/results/*/manifest", ("s3:ListBucket", "")
GRANTED = {
    "api.write_batches": KEEP,
    "consume_acks": KEEP,
    "handle_bundle": KEEP,
    "sweep_jobs": KEEP,
    "api.read_batches": {("s3:GetObject", ALL), ("s3:PutObject", ALL), LIST},
    "publish_endings": {("s3:GetObject", MANIFEST), ("s3:PutObject", MANIFEST), LIST},
    "api.administer_batches": {("s3:DeleteObject", ALL), LIST},
    "sweep": {("s3:DeleteObject", ALL), LIST},
}


@pytest.fixture(scope="module")
def assembly():
    return synthesised(**OFF)


def test_each_function_may_use_the_objects_of_results_as_its_part_needs(assembly):
    found = {}
    for function in assembly.of_type("AWS::Lambda::Function").values():
        role = function["Properties"]["Role"]["Fn::GetAtt"][0]
        given = {each for statement in grants_of(assembly, role) for each in on_results(*statement)}
        found |= {handler_of(function): given} if given else {}

    assert found == GRANTED


def test_the_announcer_has_the_time_and_the_cpu_to_list_a_million_parts(assembly):
    functions = assembly.of_type("AWS::Lambda::Function").values()
    (announcer,) = (each for each in functions if handler_of(each) == "publish_endings")

    assert announcer["Properties"]["MemorySize"] >= 1769  # one vCPU
    assert announcer["Properties"]["Timeout"] >= 300


def on_results(actions, resource):
    """(action, names of objects) of a statement about the bucket of results."""
    text = json.dumps(resource)
    if '"Results' not in text:
        return
    names = resource["Fn::Join"][1][-1] if "Fn::Join" in resource else ""
    for action in actions:
        yield action, names
