"""docs/networks.md, and the host name of the API."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase
from typing import Any

import pytest

from fanin_cdk.settings.config import ConfigError
from infra.paths import ROOT
from tests.infra.options import CERTIFICATE
from tests.infra.synthesis import Assembly, synthesised
from tests.infra.test_construct_edges import app_of, stack_of, tracker_of
from tests.infra.test_operations_page import grants

PAGE = (ROOT / "docs" / "networks.md").read_text()
NAME = "fanin.example.com"


def endpoint_policy() -> dict[str, Any]:
    """The one statement of the policy on the page."""
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (statement,) = json.loads(text)["Statement"]
    found: dict[str, Any] = statement
    return found


def test_the_endpoint_lets_through_what_direct_clients_and_workers_send_to_tables_and_no_more() -> None:
    sent = {action for section in ("Fanin.direct", "Queue workers") for action, _ in grants(section)}

    assert set(endpoint_policy()["Action"]) == {action for action in sent if action.startswith("dynamodb:")}


def test_the_endpoint_is_for_one_account_and_the_tables_of_one_stage(default: Assembly) -> None:
    statement = endpoint_policy()
    pattern = statement["Resource"].replace("STAGE", "dev")
    table = "arn:aws:dynamodb:REGION:ACCOUNT:table/"
    # CloudFormation names a table by its stack and its logical id.
    tables = default.of_type("AWS::DynamoDB::Table").values()
    assert not [each for each in tables if "TableName" in each["Properties"]]
    assert fnmatchcase(f"{table}Fanin-dev-TablesBatches-1X/index/byTenant", pattern)
    assert not fnmatchcase(f"{table}Fanin-devel-TablesBatches-1X", pattern)
    assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "ACCOUNT"}}


def test_the_endpoints_of_the_page_are_of_services_that_botocore_knows() -> None:
    from botocore.session import Session

    found = set(re.findall(r"com\.amazonaws\.REGION\.([a-z0-9-]+)", PAGE))
    assert {"dynamodb", "sqs", "events", "sts"} <= found
    assert found <= {*Session().get_available_services()}


def test_the_api_answers_under_the_host_name_beside_its_own(configured: Assembly, default: Assembly) -> None:
    domain = configured.only("AWS::ApiGatewayV2::DomainName")["Properties"]
    mapping = configured.only("AWS::ApiGatewayV2::ApiMapping")["Properties"]

    assert domain["DomainName"] == NAME
    assert domain["DomainNameConfigurations"] == [
        {"CertificateArn": CERTIFICATE, "EndpointType": "REGIONAL", "SecurityPolicy": "TLS_1_2"}
    ]
    assert mapping["Stage"] == configured.only("AWS::ApiGatewayV2::Stage")["Properties"]["StageName"]
    assert "ApiMappingKey" not in mapping
    assert configured.template["Outputs"]["ApiUrl"] == default.template["Outputs"]["ApiUrl"]


def test_the_outputs_are_what_the_record_of_the_name_refers_to(
    configured: Assembly, default: Assembly
) -> None:
    more = {
        name: output["Value"]["Fn::GetAtt"][1]
        for name, output in configured.template["Outputs"].items()
        if name not in default.template["Outputs"] and name.startswith("Api")
    }

    assert more == {"ApiDomainTarget": "RegionalDomainName", "ApiDomainZone": "RegionalHostedZoneId"}
    assert all(f"`{name}`" in PAGE for name in more)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"domain_name": NAME}, "domain_name and certificate_arn go together"),
        ({"certificate_arn": CERTIFICATE}, "domain_name and certificate_arn go together"),
        ({"domain_name": NAME, "certificate_arn": CERTIFICATE}, "domain_name need an API"),
    ],
)
def test_a_host_name_needs_its_certificate_and_an_api(given: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        tracker_of(stack_of(app_of()), **given)


@pytest.mark.proof
def test_the_local_run_has_no_host_name() -> None:
    local = synthesised(domain_name=NAME, certificate_arn=CERTIFICATE, target="local")

    assert not local.of_type("AWS::ApiGatewayV2::DomainName")
