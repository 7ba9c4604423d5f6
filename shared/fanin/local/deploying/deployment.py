"""Deploys an assembly on the emulator, as `cdk bootstrap` and `cdk deploy` do on AWS."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fanin.local.deploying import template as written
from fanin.local.deploying.assembly import Assembly
from fanin.local.emulator_process.connection import ACCOUNT, REGION, Connection
from fanin.local.errors import LocalRunError

Progress = Callable[[str], None]

BUCKET = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
ASSETS = "assets"
"""The bucket of the assets of `fanin template`."""
BOOTSTRAP_VERSION = "/cdk-bootstrap/hnb659fds/version"
DEPLOY_SECONDS = 120.0
POLL_SECONDS = 0.2


def deploy(assembly: Assembly, aws: Connection, progress: Progress) -> dict[str, str]:
    """Upload the assets, create the stack and return its outputs, or raise LocalRunError."""
    progress(f"deploying {len(assembly.template['Resources'])} resources")
    parameters = _parameters(assembly.template)
    bucket, prefix = parameters.get(written.BUCKET, BUCKET), parameters.get(written.PREFIX, "")
    if not parameters:
        _bootstrap(aws)
    _upload(assembly, aws, bucket, prefix)
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(
        StackName=assembly.stack,
        TemplateURL=f"{aws.endpoint}/{bucket}/{prefix}{_template_key(assembly)}",
        Parameters=[{"ParameterKey": name, "ParameterValue": each} for name, each in parameters.items()],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
    )
    described = _wait(cloudformation, assembly)
    _expire_items(assembly, aws, cloudformation)
    _allow_loops(assembly, aws, cloudformation)
    return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}


def _parameters(template: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a template of `fanin template`; one of the CDK needs a bootstrap instead."""
    given = {written.BUCKET: ASSETS, written.PREFIX: "some/prefix/"}
    return given if written.BUCKET in template.get("Parameters", {}) else {}


def _bootstrap(aws: Connection) -> None:
    aws.client("ssm").put_parameter(Name=BOOTSTRAP_VERSION, Value="30", Type="String", Overwrite=True)


def _upload(assembly: Assembly, aws: Connection, bucket: str, prefix: str) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=bucket)
    for asset in assembly.assets:
        s3.put_object(Bucket=bucket, Key=prefix + asset.key, Body=asset.content())


def _template_key(assembly: Assembly) -> str:
    """Return the S3 key of the template, which is an asset because it is too long for a request."""
    name = f"{assembly.stack}.template.json"
    return next(asset.key for asset in assembly.assets if asset.path.name == name)


def _wait(cloudformation: Any, assembly: Assembly) -> dict[str, Any]:
    deadline = time.monotonic() + DEPLOY_SECONDS
    while time.monotonic() < deadline:
        stack: dict[str, Any] = cloudformation.describe_stacks(StackName=assembly.stack)["Stacks"][0]
        if stack["StackStatus"] == "CREATE_COMPLETE":
            return stack
        if not stack["StackStatus"].endswith("_IN_PROGRESS") or "ROLLBACK" in stack["StackStatus"]:
            raise LocalRunError(
                f"the stack is {stack['StackStatus']}: {_reason(cloudformation, assembly.stack)}"
            )
        time.sleep(POLL_SECONDS)
    raise LocalRunError(f"the stack was not deployed in {DEPLOY_SECONDS:.0f} s")


def _reason(cloudformation: Any, stack: str) -> str:
    # A rollback has an event for every resource, so the failure is on a later page.
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
    events = (event for page in pages for event in page["StackEvents"])
    failed = [event for event in events if event["ResourceStatus"].endswith("FAILED")]
    return "; ".join(f"{e['LogicalResourceId']}: {e.get('ResourceStatusReason')}" for e in reversed(failed))


def properties_of(template: Mapping[str, Any], kind: str, name: str) -> dict[str, Any]:
    """Return the property *name* of each resource of the type *kind* that has it, by logical id."""
    resources = template["Resources"].items()
    found = {id_: each.get("Properties", {}) for id_, each in resources if each["Type"] == kind}
    return {id_: properties[name] for id_, properties in found.items() if name in properties}


def _of_resources(assembly: Assembly, cloudformation: Any, kind: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the physical id of each resource of *kind* that has the property *name*, and its value."""
    for logical, value in properties_of(assembly.template, kind, name).items():
        found = cloudformation.describe_stack_resource(StackName=assembly.stack, LogicalResourceId=logical)
        yield found["StackResourceDetail"]["PhysicalResourceId"], value


def _expire_items(assembly: Assembly, aws: Connection, cloudformation: Any) -> None:
    """Enable TTL on the tables: the emulator's CloudFormation ignores the specification."""
    dynamodb, known = aws.client("dynamodb"), "TimeToLiveSpecification"
    for id_, specification in _of_resources(assembly, cloudformation, "AWS::DynamoDB::Table", known):
        dynamodb.update_time_to_live(TableName=id_, TimeToLiveSpecification=specification)


def _allow_loops(assembly: Assembly, aws: Connection, cloudformation: Any) -> None:
    """Let functions loop whose template says so: the emulator's CloudFormation ignores it."""
    lambda_, known = aws.client("lambda"), "RecursiveLoop"
    for id_, wanted in _of_resources(assembly, cloudformation, "AWS::Lambda::Function", known):
        lambda_.put_function_recursion_config(FunctionName=id_, RecursiveLoop=wanted)
