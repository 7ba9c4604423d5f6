"""The longest text that a value of a template can become at deployment, for limits on its size.

CloudFormation names a resource ``STACK-LOGICALID-SUFFIX``, cut to what its service accepts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SUFFIX = "x" * 13
PSEUDO = {
    "AWS::AccountId": "1" * 12,
    "AWS::Partition": "aws-us-gov",
    "AWS::Region": "ap-southeast-1",
    "AWS::URLSuffix": "amazonaws.com.cn",
}
"""The longest value of each pseudo parameter."""
REGIONAL = f"{PSEUDO['AWS::Region']}:{PSEUDO['AWS::AccountId']}"
ARN = f"arn:{PSEUDO['AWS::Partition']}:execute-api:{REGIONAL}:event-source-mapping/"
"""Longer than the part of any ARN before the resource's name."""
QUEUE_URL = f"https://sqs.{PSEUDO['AWS::Region']}.{PSEUDO['AWS::URLSuffix']}/{PSEUDO['AWS::AccountId']}/"
# Characters of a name, for the types that others refer to; 255 for all others.
NAMES = {
    "AWS::DynamoDB::Table": 255,
    "AWS::EMRServerless::Application": 64,
    "AWS::Events::EventBus": 256,
    "AWS::IAM::Role": 64,
    "AWS::KMS::Key": 36,
    "AWS::Lambda::Function": 64,
    "AWS::S3::Bucket": 63,
    "AWS::SQS::Queue": 80,
}
NAMED_BY_ARN = {"AWS::SNS::Topic", "AWS::Lambda::LayerVersion"}
"""Types whose ``Ref`` is an ARN."""


@dataclass(frozen=True, slots=True)
class Written:
    """Writes the values of *template*, a stack of the name *stack*, as the longest texts they can become."""

    template: Mapping[str, Any]
    stack: str

    def text(self, value: Any) -> str:
        """Return the longest text of *value*: a text, a number or an intrinsic function."""
        match value:
            case {"Ref": name}:
                return PSEUDO.get(name) or self._reference(name)
            case {"Fn::GetAtt": [name, attribute]}:
                return self._attribute(name, attribute)
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(self.text(part) for part in parts)
            case {"Fn::Sub": str(pattern)}:
                return re.sub(r"\$\{([^}!]+)\}", lambda found: self.text({"Ref": found[1]}), pattern)
            case dict():
                return "x" * 255
        return str(value)

    def resolved(self, value: Any) -> Any:
        """Return *value*, a JSON value, with the longest text for each intrinsic function in it."""
        match value:
            case {"Ref": _} | {"Fn::GetAtt": _} | {"Fn::Join": _} | {"Fn::Sub": _}:
                return self.text(value)
            case dict():
                return {name: self.resolved(each) for name, each in value.items()}
            case list():
                return [self.resolved(each) for each in value]
        return value

    def _reference(self, name: str) -> str:
        if name == "AWS::StackName":
            return self.stack
        kind = self._kind(name)
        if kind in NAMED_BY_ARN:
            return ARN + self._name(name)
        return QUEUE_URL + self._name(name) if kind == "AWS::SQS::Queue" else self._name(name)

    def _attribute(self, name: str, attribute: str) -> str:
        stream = "/stream/2000-01-01T00:00:00.000" if attribute == "StreamArn" else ""
        return (ARN if attribute.endswith("Arn") else "") + self._name(name) + stream

    def _name(self, name: str) -> str:
        return f"{self.stack}-{name}-{SUFFIX}"[: NAMES.get(self._kind(name), 255)]

    def _kind(self, name: str) -> str:
        return str(self.template["Resources"].get(name, {}).get("Type", ""))
