"""What an account alone can show: the doorbells of a stage, its host name, the rights that deployed it."""

from __future__ import annotations

from functools import partial
from typing import Any

from fanin.client.transports.http import HttpTransport
from tests.smoke.site import Failed, Stage

ENCRYPTION = ("KmsMasterKeyId", "SqsManagedSseEnabled")


def doorbell(stage: Stage) -> str:
    """The doorbell of a queue has the encryption and the tags of the acks queue, also after a second PUT."""
    if "QueueTable" not in stage.outputs:
        return "no work queues"
    name = f"{stage.name}-bell"
    queue = stage.fanin.queue(name)
    stage.clean_later("the queue with the doorbell", partial(queue.remove, force=True))
    wanted = _described(stage, stage.outputs["AcksQueueUrl"])
    for _ in range(2):
        found = _described(stage, queue.ensure().doorbell_url)
        if found != wanted:
            raise Failed(f"the doorbell has {found}, and the acks queue {wanted}")
    encryption, tags = wanted
    return f"{encryption or 'no key'}; tags {', '.join(sorted(tags)) or 'none'}; also after a second PUT"


def _described(stage: Stage, url: str) -> tuple[str, dict[str, str]]:
    """Return the encryption of a queue, and the tags that are not of CloudFormation."""
    sqs = stage.client("sqs")
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[*ENCRYPTION])["Attributes"]
    by_sqs = "SSE-SQS" if attributes.get("SqsManagedSseEnabled") == "true" else ""
    tags = sqs.list_queue_tags(QueueUrl=url).get("Tags", {})
    own = {key: value for key, value in tags.items() if not key.startswith("aws:")}
    return attributes.get("KmsMasterKeyId") or by_sqs, own


def host_name(stage: Stage) -> str:
    """A signed request to the host name of the stage is answered."""
    names = stage.resources.get("AWS::ApiGatewayV2::DomainName", [])
    if not names:
        return "no host name on this stage"
    region = stage.client("sts").meta.region_name
    transport = HttpTransport(f"https://{names[0]}", region=region)
    transport._get("/v1/batches?limit=1", {}, lambda found: found)
    return f"{names[0]} answers"


def rights(stage: Stage) -> str:
    """Return the policies with which CloudFormation deployed the stage."""
    (stack,) = stage.client("cloudformation").describe_stacks(StackName=stage.stack)["Stacks"]
    role = stack.get("RoleARN", "").rpartition("/")[2]
    if not role:
        return "with the rights of who deployed it"
    found: Any = stage.client("iam").list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    return f"with {', '.join(sorted(each['PolicyName'] for each in found))}"
