"""The target of a task that names none, computed from its payload."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest, KeyReused, NoTarget
from fanin.grouper import NewTask
from fanin.grouper.settings.targeting import TargetTemplate
from tests.grouper.conftest import TENANT, Bench


def target(template, payload):
    return TargetTemplate.parse(template)(NewTask(payload))


@pytest.mark.parametrize(
    ("template", "payload", "expected"),
    [
        ("{customer}/{region}", {"customer": "acme", "region": "eu"}, "acme/eu"),
        ("orders-{region}", {"region": "eu", "other": None}, "orders-eu"),
        ("{order.customer.id}/x", {"order": {"customer": {"id": 17}}}, "17/x"),
        ("{a}", {"a": "x" * 128}, "x" * 128),
    ],
)
def test_fields_of_the_payload_are_the_target(template, payload, expected):
    assert target(template, payload) == expected


@pytest.mark.parametrize(
    ("payload", "reason", "field"),
    [
        ({"customer": "acme"}, "the payload has no field region", "payload.region"),
        ({"customer": "acme", "region": None}, "the field region of the payload", "payload.region"),
        ({"customer": "acme", "region": 1.5}, "the field region of the payload", "payload.region"),
        ({"customer": True, "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "é", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "a", "region": "b" * 513}, "the field region of the payload", "payload.region"),
        ({"customer": "a/b", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "a#b", "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": {"id": 1}, "region": "eu"}, "the field customer of the payload", "payload.customer"),
        ({"customer": "-a", "region": "eu"}, "which is no valid target", None),
        ({"customer": "a" * 127, "region": "eu"}, "which is no valid target", None),
        ([1], "the payload has no field customer", "payload.customer"),
        ("text", "the payload has no field customer", "payload.customer"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_a_payload_without_a_target_is_refused_with_the_field(payload, reason, field):
    with pytest.raises(NoTarget, match=reason) as raised:
        target("{customer}/{region}", payload)

    assert raised.value.field == field


@pytest.mark.parametrize(
    "template",
    [
        *("", "orders", "{}", "{a b}", "{a", "a}", "{a}{b}", "{a}-{b}", "{a}#{b}", "{a.}", "{0}", "{a!r}"),
        *("{a:>10}", "{a[0]}", "{a}/{b}\n", "{a}/" + "x" * 300),
    ],
)
def test_a_template_of_another_form_is_refused(template):
    with pytest.raises(InvalidRequest, match="template of targets"):
        TargetTemplate.parse(template)


VALUES = st.text("ab.-", min_size=1, max_size=4).filter(lambda text: text[0] not in ".-")


@given(VALUES, VALUES, VALUES, VALUES)
def test_different_fields_have_different_targets(a, b, c, d):
    one, other = target("{x}/{y}", {"x": a, "y": b}), target("{x}/{y}", {"x": c, "y": d})

    assert (one == other) == ((a, b) == (c, d))


def test_a_repeated_task_is_the_same_under_another_template():
    bench = Bench(target_of=TargetTemplate.parse("a-{n}"))
    first = bench.grouper.register(TENANT, NewTask({"n": 1}, task_id="a"))
    bench = Bench(target_of=TargetTemplate.parse("b-{n}"))
    bench.store.write_task(first)

    assert bench.grouper.register(TENANT, NewTask({"n": 1}, task_id="a")) == first
    with pytest.raises(KeyReused):
        bench.grouper.register(TENANT, NewTask({"n": 1}, "b-1", "a"))


DIGITS = 127


def test_a_template_has_up_to_256_characters():
    longest = "{a}/".ljust(256, "x")

    assert TargetTemplate.parse(longest).fields == ("a",)
    with pytest.raises(InvalidRequest, match="the template of targets"):
        TargetTemplate.parse(longest + "x")


def test_a_number_has_up_to_127_digits():
    of = TargetTemplate.parse("{a}")

    assert of(NewTask({"a": 10**DIGITS - 1})) == "9" * DIGITS
    with pytest.raises(NoTarget, match="the field a of the payload is a part of the target"):
        of(NewTask({"a": 10**DIGITS}))
