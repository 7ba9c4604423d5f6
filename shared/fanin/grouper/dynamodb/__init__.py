"""The group-batcher's store on DynamoDB."""

from fanin.grouper.dynamodb.store import DynamoStore, GrouperTables

__all__ = ["DynamoStore", "GrouperTables"]
