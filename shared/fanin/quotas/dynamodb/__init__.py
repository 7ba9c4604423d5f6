"""The store of quotas in the batches table."""

from fanin.quotas.dynamodb.store import DynamoQuotas

__all__ = ["DynamoQuotas"]
