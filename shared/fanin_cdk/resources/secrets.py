"""What a function needs to read a secret."""

from __future__ import annotations

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from fanin.grouper.settings.endpoints import Secret


def allow_secret(function: lambda_.Function, secret: Secret) -> None:
    """Grant *function* the value of *secret*, and the use of its KMS key by Secrets Manager alone."""
    read = iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[secret.arn])
    function.add_to_role_policy(read)
    if secret.key:
        region = secret.arn.split(":")[3]
        via = {"StringEquals": {"kms:ViaService": f"secretsmanager.{region}.{Aws.URL_SUFFIX}"}}
        statement = iam.PolicyStatement(actions=["kms:Decrypt"], resources=[secret.key], conditions=via)
        function.add_to_role_policy(statement)
