"""Publishes the rows of an execution; the task of *token* goes on waiting until all of them are done."""

import json
import os
from datetime import timedelta
from typing import Any

import boto3

from fanin import Fanin

fanin = Fanin()
sqs = boto3.client("sqs")


def handler(event: dict[str, Any], context: Any) -> None:
    rows = event["rows"]
    with fanin.open(task_token=event["token"], deadline=timedelta(hours=6)) as batch:
        for item_id, row in zip(batch.add(len(rows)), rows, strict=True):
            body = json.dumps({"itemId": item_id, "row": row})
            sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=body, MessageGroupId=batch.id)
