"""Accepted cdk-nag findings: each is accepted where it stands, with its reason."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import IConstruct


def accept(scope: IConstruct, reason: str, *findings: str) -> None:
    """Accept *findings* (rule ids, with the resource for IAM5) on *scope* and what is below it."""
    accepted = [cdk.Acknowledgment(id=finding, reason=reason) for finding in findings]
    cdk.Validations.of(scope).acknowledge(*accepted)


def accept_wildcards(scope: IConstruct, reason: str, *arns: str) -> None:
    """Accept on *scope* that it may reach all that *arns* stand for; those without a ``*`` need no word."""
    told = (_told(cdk.Stack.of(scope).resolve(arn)) for arn in arns)
    accept(scope, reason, *(f"AwsSolutions-IAM5[Resource::{arn}]" for arn in told if "*" in arn))


def _told(arn: Any) -> str:
    """A resolved ARN as cdk-nag writes it: what it refers to in angle brackets."""
    match arn:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_told(part) for part in parts)
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Ref": name}:
            return f"<{name}>"
    return str(arn)
