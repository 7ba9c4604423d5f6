"""What `fanin template` makes of the stack: the same, with its assets where two parameters name them."""

from __future__ import annotations

import json
import re

import pytest

from fanin.local.deploying.assembly import Assembly
from fanin.local.deploying.setting_names import refuse_unknown
from fanin.local.deploying.template import BUCKET, CDK_BUCKET, PREFIX, parameterised, write
from fanin.names import BATCH_COMPLETED, EVENT_SOURCE
from tests.infra.test_options import lint
from tests.pages import ROOT, blocks_of

PAGE = ROOT / "docs" / "howto" / "other_stacks.md"
BLOCKS = {block.language: block.code for block in blocks_of(PAGE)}


@pytest.fixture(params=["everything", "on_emr"])
def read(request):
    """The stack with every part."""
    return Assembly.read(request.getfixturevalue(request.param).folder)


@pytest.fixture
def written(read):
    return parameterised(read.template, [asset.key for asset in read.assets])


def test_with_the_bucket_and_keys_of_the_cdk_as_parameters_it_is_the_template_of_the_cdk(read, written):
    text, whole = json.dumps(written["Resources"]), json.dumps(read.template["Resources"])
    named = sum(text.count(asset.key) for asset in read.assets)

    assert written.keys() | {"Rules"} == read.template.keys() > written.keys()
    assert written["Parameters"].keys() == {BUCKET, PREFIX}
    assert text.count(f"${{{PREFIX}}}") == named > 0
    as_cdk = text.replace(f"${{{PREFIX}}}", "").replace(f"${{{BUCKET}}}", CDK_BUCKET)
    first, second = (re.sub(r'{"Fn::Sub": ("[^"]*")}', r"\1", each) for each in (as_cdk, whole))
    assert first == second


def test_the_page_names_every_output_and_its_blocks_no_other_nor_other_parameters(written):
    stacks = [BLOCKS[language] for language in ("hcl", "ts", "yaml")]
    of_blocks = [set(re.findall(r"(?:fanin\[\"|output\(\"|Outputs\.)(\w+)", code)) for code in stacks]
    parameters = re.findall(r"(?i)parameters *[=:] *{ *(\w+)[=:\s]*[^,]*, *(\w+)", "".join(stacks))

    assert {f"`{name}`" for name in written["Outputs"]} <= set(re.findall(r"`\w+`", PAGE.read_text()))
    assert of_blocks == [{"ApiId", "ApiUrl", "BusName"}] * 3
    assert of_blocks[0] <= written["Outputs"].keys()
    assert parameters == [(BUCKET, PREFIX)] * 3


def test_the_settings_of_the_page_are_settings_and_its_rules_match_the_event():
    text = PAGE.read_text()
    patterns = re.findall(r"source\W+(\w+)\W+detail-?type\W+(\w+)", text, re.IGNORECASE)

    refuse_unknown(re.findall(r"-c (\w+)=", text))
    assert patterns == [(EVENT_SOURCE, BATCH_COMPLETED)] * 3


def test_a_stack_of_the_cdk_includes_it_as_the_page_does(everything, tmp_path):
    from aws_cdk import App, Stack
    from aws_cdk.cloudformation_include import CfnInclude

    template = write(Assembly.read(everything.folder), tmp_path / "fanin-template")
    app = App(outdir=str(tmp_path / "cdk.out"))
    parameters = {BUCKET: "my-assets", PREFIX: "fanin/v1/"}
    included = CfnInclude(Stack(app, "Mine"), "Fanin", template_file=str(template), parameters=parameters)
    found = app.synth().get_stack_by_name("Mine").template

    assert included.get_output("ApiUrl").value
    assert not re.search(f"{BUCKET}|{PREFIX}", json.dumps(found))


@pytest.mark.proof
def test_cfn_lint_finds_nothing_in_it_nor_in_the_application_that_nests_it(written, tmp_path):
    (tmp_path / "fanin-template").mkdir()
    (tmp_path / "fanin-template/Fanin-prod.template.json").write_text(json.dumps(written))
    (tmp_path / "sam.yaml").write_text(BLOCKS["yaml"])

    from cfnlint import api as cfn_lint

    assert lint(written) == []
    assert cfn_lint.lint_file(tmp_path / "sam.yaml") == []
