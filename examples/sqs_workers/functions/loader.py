"""Publishes the rows of one load: invoked with ``{"load": "catalog-8", "rows": [...]}``."""

import json
import os
from datetime import timedelta
from typing import Any

import boto3

from fanin import Fanin

fanin = Fanin()
sqs = boto3.client("sqs")


def handler(event: dict[str, Any], context: Any) -> str:
    rows = event["rows"]
    # A second invocation for the same load opens no second batch, and sends the same ids again.
    with fanin.open(event["load"], key=event["load"], deadline=timedelta(hours=6)) as batch:
        for item_id, row in zip(batch.add(len(rows), key="rows"), rows, strict=True):
            body = json.dumps({"itemId": item_id, "row": row})
            sqs.send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=body, MessageGroupId=batch.id)
    return batch.id
