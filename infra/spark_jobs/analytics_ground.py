"""The resources that all jobs of the pipeline share: their code, their bucket, and the key of their logs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from aws_cdk import Aws, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_assets as assets
from constructs import Construct

from fanin_cdk.constructs.buckets import ABANDONED, private_bucket
from fanin_cdk.constructs.functions import service_name
from fanin_cdk.nag import accept
from infra.config import StackConfig
from infra.paths import PIPELINE
from infra.pipeline_code import pack

TEMPORARY = "temporary"


class Ground(Construct):
    """*script* and *code* as assets; *bucket* for manifests and results; *key* for logs.

    ``logs``: the prefix of the names of the jobs' log groups.
    """

    def __init__(self, scope: Construct, id_: str, config: StackConfig) -> None:
        super().__init__(scope, id_)
        self.logs = f"/{service_name(config)}/pipeline"
        self.script = assets.Asset(self, "Script", path=str(PIPELINE / "entry.py"))
        self.code = self._code()
        rules = [
            s3.LifecycleRule(prefix=f"{TEMPORARY}/", expiration=Duration.days(7)),
            s3.LifecycleRule(abort_incomplete_multipart_upload_after=ABANDONED),
        ]
        self.bucket = private_bucket(self, "Bucket", rules)
        accept(self.bucket, "The jobs' roles write, and readers are the account's own", "AwsSolutions-S1")
        self.key = self._key()

    def _code(self) -> assets.Asset:
        with TemporaryDirectory() as staging:
            path = Path(staging) / "fanin-pipeline.zip"
            pack(path)
            # Making the asset copies the file into the output.
            return assets.Asset(self, "Code", path=str(path))

    def _key(self) -> kms.Key:
        key = kms.Key(
            self,
            "Key",
            description="fanin: logs of the Spark jobs",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        groups = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:{self.logs}/*"
        key.add_to_resource_policy(
            iam.PolicyStatement(
                actions=[
                    "kms:Encrypt",
                    "kms:Decrypt",
                    "kms:ReEncrypt*",
                    "kms:GenerateDataKey*",
                    "kms:DescribeKey",
                ],
                principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
                # In a key policy, this key.
                resources=["*"],
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
            )
        )
        return key
