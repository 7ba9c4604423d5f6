"""What `fanin template` makes of the stack: the same, with its assets where two parameters name them."""

from __future__ import annotations

import json

import pytest

from fanin.local.assembly import Assembly
from fanin.local.template import BUCKET, CDK_BUCKET, PREFIX, parameterised
from tests.infra.test_options import lint


@pytest.fixture(params=["everything", "on_emr"])
def read(request):
    """The stack with every part."""
    return Assembly.read(request.getfixturevalue(request.param).folder)


def test_with_the_bucket_and_keys_of_the_cdk_as_parameters_it_is_the_template_of_the_cdk(read):
    keys = [asset.key for asset in read.assets]
    made = parameterised(read.template, keys)
    text = json.dumps(made["Resources"])
    named = sum(text.count(key) for key in keys)

    assert made.keys() == read.template.keys() - {"Rules"}
    assert made["Parameters"].keys() == {BUCKET, PREFIX}
    assert text.count(f"${{{PREFIX}}}") == named > len(made["Resources"]) / 10
    as_cdk = json.loads(text.replace(f"${{{PREFIX}}}", "").replace(f"${{{BUCKET}}}", CDK_BUCKET))
    assert plain(as_cdk) == plain(read.template["Resources"])


def plain(value):
    """*value*, with each Fn::Sub of a text as the text."""
    if isinstance(value, dict):
        kept = {name: plain(each) for name, each in value.items()}
        return kept["Fn::Sub"] if kept.keys() == {"Fn::Sub"} else kept
    return [plain(each) for each in value] if isinstance(value, list) else value


@pytest.mark.proof
def test_cfn_lint_finds_nothing_in_it(read):
    assert lint(parameterised(read.template, [asset.key for asset in read.assets])) == []
