"""The work queue's store on DynamoDB."""

from fanin.queue.dynamodb.store import DynamoStore

__all__ = ["DynamoStore"]
