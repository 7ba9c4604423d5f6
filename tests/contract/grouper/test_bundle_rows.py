"""Every form of a bundle's row is written over the version before it, and read."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from fanin.grouper import BundleState
from fanin.grouper.rules.model import Outcome, Verdict
from tests.contract.grouper.calls import LATER, claimed

OWNER = ({}, {"owner": "me"})
CALL = ({}, {"call_until": LATER})
REST = ({}, {"not_before": LATER})
OUTCOMES = ({}, {"outcomes": (Outcome(Verdict.OK),)})
STATES = (BundleState.CALLING, BundleState.DONE)


def test_each_form_of_a_bundle_replaces_the_version_before_it(store):
    bundle = claimed(store, "a")
    for state, owner, call, rest, outcomes in product(STATES, OWNER, CALL, REST, OUTCOMES):
        form = owner | call | rest | outcomes
        plain = replace(bundle, owner=None, call_until=None, not_before=None, outcomes=())
        bundle = replace(plain, state=state, version=bundle.version + 1, **form)

        assert store.replace_bundle(bundle).version == bundle.version
        assert store.replace_bundle(replace(bundle, attempt=9)).attempt == bundle.attempt
