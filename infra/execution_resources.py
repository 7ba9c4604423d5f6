"""The data of infra/execution_policy.py: the types of the stack's resources, and how they are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TYPES = (
    "AWS::ApiGatewayV2::Api",
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::DomainName",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::DynamoDB::Table",
    "AWS::EMRServerless::Application",
    "AWS::Events::EventBus",
    "AWS::Events::Rule",
    "AWS::Glue::Job",
    "AWS::Glue::SecurityConfiguration",
    "AWS::Glue::Trigger",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::KMS::Key",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::Queue",
    "AWS::SQS::QueuePolicy",
    "AWS::Scheduler::Schedule",
)
"""The types of the resources of the stack, with any settings."""

OF_OTHER_SERVICES = r"(ec2|ecr|elasticfilesystem|firehose|kinesis|s3files|s3tables|sso):\w+"
NO_KEY = (r"kms:\w+",)
"""Of a resource that the stack gives no KMS key."""
UNUSED: Mapping[str, Sequence[str]] = {
    "*": (OF_OTHER_SERVICES,),
    "AWS::ApiGatewayV2::Api": ("s3:getObject",),  # an API of a file
    "AWS::ApiGatewayV2::Authorizer": ("iam:PassRole",),  # an authorizer that is a function
    "AWS::ApiGatewayV2::Integration": ("iam:PassRole",),  # an integration with a role
    "AWS::ApiGatewayV2::DomainName": (r"s3:\w+",),  # mutual TLS
    "AWS::DynamoDB::Table": (
        *NO_KEY,
        # Replicas, imports, resource policies, Kinesis.
        r"dynamodb:(Scan|Query|(Get|Put|Update|Delete|BatchWrite)Item|\w+TableReplica)",
        r"dynamodb:(\w*Import\w*|(Put|Delete)ResourcePolicy|(En|Dis)able\w+|UpdateKinesis\w+)",
        r"(logs|s3):\w+",
    ),
    "AWS::EMRServerless::Application": NO_KEY,
    "AWS::Events::EventBus": (*NO_KEY, r"events:(Put|Remove)Permission"),
    "AWS::IAM::Policy": (r"iam:\w+(User|Group)Policy",),
    "AWS::IAM::Role": (r"iam:(Attach|Detach)RolePolicy",),
    "AWS::Lambda::EventSourceMapping": NO_KEY,
    "AWS::Lambda::Function": (
        *NO_KEY,
        r"lambda:(Put|Delete)FunctionCodeSigningConfig|lambda:GetCodeSigningConfig",
        r"lambda:(Put|Delete)FunctionConcurrency|lambda:PutFunctionScalingConfig",
        r"lambda:(PassCapacityProvider|AssociateRuntimeAlias|PublishVersion)",
        "s3:GetObjectVersion",
    ),
    "AWS::Lambda::LayerVersion": ("s3:GetObjectVersion",),
    "AWS::Logs::LogGroup": (
        r"s3:REST\.PUT\.OBJECT",
        r"logs:(Put|Delete)(DataProtection|Index)Policy|logs:PutBearerTokenAuthentication",
        r"logs:(PutLogGroupDeletionProtection|DeleteResourcePolicy)",
    ),
    "AWS::S3::Bucket": (
        "iam:PassRole",
        r"s3:(Put|Delete)(Bucket|Object)?(Acl|Cors|CORS|Website|Notification|\w*Replication|Abac)",
        r"s3:(Put|Delete)(Bucket)?(Analytics|Inventory|Metrics|Replication|IntelligentTiering|Accelerate)\w*",
        r"s3:(Put|Delete)\w*(ObjectLock)\w*|s3:DeleteObject",
        r"s3:(Create|Update|Delete)BucketMetadata\w+",
        r"s3:DeleteBucket(Encryption|Lifecycle)",  # no IAM actions: it is the one that puts
    ),
    "AWS::SNS::Subscription": (r"iam:\w+",),
    "AWS::SNS::Topic": (r"iam:\w+", "sns:PutDataProtectionPolicy"),
}
"""Patterns of actions that a schema declares for properties which no template has; ``*``: of any type."""

NAMED = "Fanin-*"
"""The name of a stack of any stage, with which CloudFormation begins the names of its resources."""
RESOURCES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "apigateway": {
        "path": [
            f"arn:aws:apigateway:REGION::/{path}"
            for path in ("apis", "apis/*", "domainnames", "domainnames/*", "tags/*")
        ]
    },
    "cloudwatch": {
        "alarm": [f"arn:aws:cloudwatch:REGION:ACCOUNT:alarm:{NAMED}"],
        "dashboard": ["arn:aws:cloudwatch::ACCOUNT:dashboard/*"],
    },
    "dynamodb": {"table": [f"arn:aws:dynamodb:REGION:ACCOUNT:table/{NAMED}"]},
    "emr-serverless": {"application": ["arn:aws:emr-serverless:REGION:ACCOUNT:/applications/*"]},
    "events": {
        "event-bus": [f"arn:aws:events:REGION:ACCOUNT:event-bus/{NAMED}"],
        "rule-on-custom-event-bus": [f"arn:aws:events:REGION:ACCOUNT:rule/{NAMED}"],
        "rule-on-default-event-bus": [f"arn:aws:events:REGION:ACCOUNT:rule/{NAMED}"],
    },
    "glue": {
        "job": ["arn:aws:glue:REGION:ACCOUNT:job/fanin-*"],
        "trigger": ["arn:aws:glue:REGION:ACCOUNT:trigger/*"],
    },
    "iam": {"role": [f"arn:aws:iam::ACCOUNT:role/{NAMED}"]},
    "kms": {"key": ["arn:aws:kms:REGION:ACCOUNT:key/*"]},
    "lambda": {
        "eventsourcemapping": ["arn:aws:lambda:REGION:ACCOUNT:event-source-mapping:*"],
        "function": [f"arn:aws:lambda:REGION:ACCOUNT:function:{NAMED}"],
        # CloudFormation names a layer by its logical id.
        "layer": ["arn:aws:lambda:REGION:ACCOUNT:layer:*"],
        "layerversion": ["arn:aws:lambda:REGION:ACCOUNT:layer:*"],
    },
    "logs": {
        "log-group": [
            f"arn:aws:logs:REGION:ACCOUNT:log-group:{name}"
            for name in (NAMED, "/fanin-*", "/aws/vendedlogs/fanin/*")
        ]
    },
    "s3": {
        "bucket": ["arn:aws:s3:::fanin-*"],
        # The code of functions, as the CDK uploads it.
        "object": ["arn:aws:s3:::cdk-*-assets-ACCOUNT-REGION/*"],
    },
    "scheduler": {"schedule": ["arn:aws:scheduler:REGION:ACCOUNT:schedule/default/*"]},
    "sns": {"topic": [f"arn:aws:sns:REGION:ACCOUNT:{NAMED}"]},
    "sqs": {"queue": [f"arn:aws:sqs:REGION:ACCOUNT:{name}" for name in (NAMED, "fanin-*_bell_stack-*")]},
}
"""The ARNs of the stack's resources, by service and type of resource as IAM has them."""

EVERYWHERE = {
    # "must be signed on with the permission that is scoped to *": CloudWatch API Reference.
    "cloudwatch:DescribeAlarms",
    "cloudwatch:PutCompositeAlarm",
}
"""Actions that AWS refuses on narrower resources, although IAM knows some."""

LINKED = "arn:aws:iam::ACCOUNT:role/aws-service-role"
MORE: Mapping[str, Sequence[str]] = {
    # Of the access log: API Gateway Developer Guide, Configure logging for HTTP APIs.
    **{
        f"logs:{name}": ("*",)
        for name in (
            "CreateLogDelivery",
            "DeleteLogDelivery",
            "DescribeLogGroups",
            "DescribeResourcePolicies",
            "GetLogDelivery",
            "ListLogDeliveries",
            "PutResourcePolicy",
            "UpdateLogDelivery",
        )
    },
    # The first resource of a service in an account makes the role of the service.
    "iam:CreateServiceLinkedRole": [
        f"{LINKED}/{service}/*"
        for service in (
            "contributorinsights.dynamodb.amazonaws.com",
            "ops.apigateway.amazonaws.com",
            "ops.emr-serverless.amazonaws.com",
        )
    ],
    # The template's parameter is the version of the bootstrap.
    "ssm:GetParameters": ("arn:aws:ssm:REGION:ACCOUNT:parameter/cdk-bootstrap/*",),
}
"""Actions that no schema declares, and those of fewer resources than IAM knows."""
