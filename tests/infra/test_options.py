"""Deployments that cover every value of every setting: cdk-nag, cfn-lint, the limits, and IAM without stars.

``make test`` has each value in one deployment, ``make proof`` each pair of values.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from fanin_cdk.limits import measured
from fanin_cdk.longest_values import Written
from fanin_cdk.settings.concurrency import shares
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.rules import Preset
from infra.config import StackConfig
from infra.execution_resources import TYPES
from tests.infra.options import ALL, OPTIONS, covering, settings
from tests.infra.synthesis import UNBUNDLED, stored

# A function waits for its role by name and by reference; the CDK says so twice, which is harmless.
ACCEPTED = {"W3005"}
LINTED = "lint.json"
# These take no narrower resource. EMR Serverless checks with DescribeLogGroups that its log group exists.
OF_NO_RESOURCE = {"logs:DescribeLogGroups", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}
SINGLE = [settings(row) for row in covering(1, ALL | {"analytics": 2})]
PAIRS = [settings(row) for row in covering(2)]
DEPLOYMENTS = [
    pytest.param(SINGLE[0], id="value-0"),
    *(pytest.param(each, id=f"value-{at}", marks=pytest.mark.proof) for at, each in enumerate(SINGLE) if at),
    *(pytest.param(each, id=f"pair-{at}", marks=pytest.mark.proof) for at, each in enumerate(PAIRS)),
]


@dataclass(frozen=True)
class Checked:
    """A template with the findings of cdk-nag and cfn-lint; an error of cdk-nag ends its synthesis."""

    template: Mapping[str, Any]
    findings: list[str]
    linted: list[list[str]]
    stack: str
    config: StackConfig


@pytest.fixture(scope="module", params=DEPLOYMENTS)
def checked(request: pytest.FixtureRequest) -> Checked:
    deployment = request.param
    folder = checked_folder(deployment)
    (path,) = folder.glob("*.template.json")
    report = json.loads((folder / "validation-report.json").read_text())
    found = [each["ruleName"] for plugin in report["pluginReports"] for each in plugin["violations"]]
    # The stack's own warning, of settings that share few executions.
    findings = [rule for rule in found if "lambda_concurrency" not in rule]
    config = StackConfig.from_context(deployment)
    linted = json.loads((folder / LINTED).read_text())
    return Checked(json.loads(path.read_text()), findings, linted, path.name.partition(".")[0], config)


def checked_folder(deployment: Mapping[str, Any]) -> Path:
    """Return the assembly of *deployment* with what was found in it."""
    return stored(f"checked {json.dumps(deployment)}", lambda folder: check_and_lint(deployment, folder))


def check_and_lint(deployment: Mapping[str, Any], folder: Path) -> None:
    """Synthesise *deployment* with cdk-nag into *folder*, and write what cfn-lint finds in its template.

    The CDK's check has the rules of cfn-lint but for the names of actions, in a tenth of the time: these are
    looked up in its list, and cfn-lint itself looks at whole templates in `make proof`.
    """
    # Here, for importing it starts a Node.
    from infra.app import build, check

    app, stack = build({**UNBUNDLED, **deployment}, outdir=str(folder))
    check(app)
    (template,) = checked_by_the_cdk(app, stack.stack_name)
    linted = lint(template) if deployment in PAIRS else unknown_actions(template)
    (folder / LINTED).write_text(json.dumps(linted))


def checked_by_the_cdk(app: Any, *stacks: str) -> list[dict[str, Any]]:
    """Synthesise *app* with the CDK's check, which other tests leave out; return the stacks' templates."""
    import aws_cdk as cdk

    cdk.Validations.of(app).add_plugins(check_of_the_cdk())
    assembly = app.synth()
    return [dict(assembly.get_stack_by_name(stack).template) for stack in stacks]


@functools.cache
def check_of_the_cdk() -> Any:
    """Return the CDK's check, which takes seconds to start."""
    import aws_cdk as cdk

    return cdk.CloudFormationValidatePlugin()


def unknown_actions(*templates: Mapping[str, Any]) -> list[str]:
    """Return the actions in policies of *templates* that match none of the list of cfn-lint, a file."""
    path = Path(str(distribution("cfn-lint").locate_file("cfnlint/data/AdditionalSpecs/Policies.json")))
    known = {f"{name}:{each}" for name, of in json.loads(path.read_text()).items() for each in of["Actions"]}
    asked = {action.lower() for each in templates for actions, _ in grants(each) for action in actions}
    return sorted(each for each in asked - known if not fnmatch.filter(known, each))


def lint(template: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rule and the text of each finding of cfn-lint."""
    from cfnlint import api as cfn_lint

    found = cfn_lint.lint(json.dumps(template), regions=["us-east-1"])
    return [(each.rule.id, str(each)) for each in found if each.rule.id not in ACCEPTED]


def test_the_shares_count_every_queue_that_feeds_a_function(checked: Checked) -> None:
    resources = checked.template["Resources"].values()
    mappings = [each for each in resources if each["Type"] == "AWS::Lambda::EventSourceMapping"]
    queues = [each for each in mappings if "ScalingConfig" in each["Properties"]]

    tracker = Config.of(checked.config.of_tracker)
    assert shares(tracker).queues == len(queues) + checked.config.other_queues


def test_cdk_nag_finds_nothing(checked: Checked) -> None:
    assert checked.findings == []


def test_cfn_lint_finds_nothing(checked: Checked) -> None:
    assert checked.linted == []


def test_no_limit_of_aws_is_exceeded(checked: Checked) -> None:
    assert [str(each) for each in measured(checked.template, checked.stack) if each.share > 1] == []


def test_the_execution_policies_are_for_the_types_of_all_its_resources(checked: Checked) -> None:
    assert {each["Type"] for each in checked.template["Resources"].values()} <= set(TYPES)


def test_no_statement_of_a_role_has_a_star_but_below_a_resource_that_it_names(checked: Checked) -> None:
    starred = [
        (actions, resource)
        for actions, resource in grants(checked.template)
        if any("*" in action for action in actions) or (is_bare(resource) and not actions <= OF_NO_RESOURCE)
    ]

    assert starred == []


def grants(template: Mapping[str, Any]) -> Iterator[tuple[set[str], str]]:
    """(actions, resource) of every statement of the policies of roles."""
    written = Written(template, "Fanin")
    for each in template["Resources"].values():
        if each["Type"] in {"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}:
            for statement in each["Properties"]["PolicyDocument"]["Statement"]:
                for resource in listed(statement["Resource"]):
                    yield set(listed(statement["Action"])), written.text(resource)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def is_bare(arn: str) -> bool:
    """Whether *arn* is a pattern for all resources of a type, or of more: a star without a name before it."""
    *scope, resource = arn.split(":", 5)
    whole_type = "" if ":s3:" in arn else r"[a-z-]+[/:]"
    return "*" in "".join(scope) or bool(re.fullmatch(rf"({whole_type})?\*", resource))


@pytest.mark.parametrize(
    ("arn", "bare"),
    [
        ("*", True),
        ("arn:aws:sqs:us-east-1:1:*", True),
        ("arn:aws:s3:::*", True),
        ("arn:aws:sqs:*:1:name", True),
        ("arn:aws:dynamodb:us-east-1:1:table/*", True),
        ("arn:aws:s3:::datasets/*", False),
        ("arn:aws:logs:us-east-1:1:log-group:name:*", False),
        ("arn:aws:execute-api:us-east-1:1:id/$default/POST/v1/batches/*/items", False),
    ],
)
def test_a_star_is_bare_where_no_name_is_before_it(arn: str, bare: bool) -> None:
    assert is_bare(arn) == bare


def test_every_setting_has_values_here_and_all_values_where_they_are_few() -> None:
    fields = {each.name: each for each in dataclasses.fields(StackConfig)}
    kinds = get_type_hints(StackConfig)

    several = {name for pair in ("jwt", "domain", "alarms") for values in OPTIONS[pair] for name in values}
    assert OPTIONS.keys() - {"jwt", "domain", "alarms"} == fields.keys() - several
    assert {values.get("monitoring", "lean") for values in OPTIONS["alarms"]} == set(get_args(Preset))
    for name, values in OPTIONS.items():
        every = {True, False} if kinds.get(name) is bool else set(get_args(kinds.get(name)))
        if every and all(isinstance(each, str | bool) for each in every):
            assert set(values) == every
