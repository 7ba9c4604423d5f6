"""Accepted cdk-nag findings: the construct that has a finding accepts it, with a reason."""

from __future__ import annotations

from typing import Any

import aws_cdk as cdk
from constructs import IConstruct


def accept(scope: IConstruct, reason: str, *findings: str) -> None:
    """Accept *findings* (rule ids, with the resource for IAM5) on *scope* and its children."""
    accepted = [cdk.Acknowledgment(id=finding, reason=reason) for finding in findings]
    cdk.Validations.of(scope).acknowledge(*accepted)


def accept_wildcards(scope: IConstruct, reason: str, *arns: str) -> None:
    """Accept on *scope* the wildcards in *arns*; an ARN without a ``*`` has no finding."""
    written = (_as_text(cdk.Stack.of(scope).resolve(arn)) for arn in arns)
    accept(scope, reason, *(f"AwsSolutions-IAM5[Resource::{arn}]" for arn in written if "*" in arn))


def _as_text(arn: Any) -> str:
    """Return a resolved ARN as cdk-nag writes it: references in angle brackets."""
    match arn:
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_as_text(part) for part in parts)
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case {"Ref": name}:
            return f"<{name}>"
    return str(arn)
