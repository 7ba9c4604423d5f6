"""The tracker's store on DynamoDB."""

from fanin.tracker.dynamodb.store import DynamoStore

__all__ = ["DynamoStore"]
