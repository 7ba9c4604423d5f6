"""The emulator's stream of a table, which its functions and the Streams API read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ministack.core.concurrency import esm_wake
from ministack.services import dynamodb

from fanin.local.emulation.connection import ACCOUNT, REGION

EXPIRY = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
"""Who removed an item whose time to live is over: Developer Guide, "DynamoDB Streams and Time to Live"."""


class Records:
    """The records of the stream *arn* of *table*."""

    def __init__(self, table: str, arn: str) -> None:
        self.table, self.arn = table, arn

    def append(self, record: Mapping[str, Any], expired: bool = False) -> None:
        """Add *record*, as the engine has it or as :meth:`change` made it."""
        identity = {"userIdentity": EXPIRY} if expired else {}
        kept = {**record, "awsRegion": REGION, "eventSourceARN": self.arn, **identity}
        records = dynamodb._stream_records.get_scoped(ACCOUNT, REGION, self.table)
        if records is None:
            dynamodb._stream_records.set_scoped(ACCOUNT, REGION, self.table, [kept])
        else:
            records.append(kept)
        esm_wake.set()

    def change(self, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the record of a change from *old* to *new*, of which one may be None."""
        table = dynamodb._tables.get_scoped(ACCOUNT, REGION, self.table)
        event = "REMOVE" if new is None else "INSERT" if old is None else "MODIFY"
        view = table["StreamSpecification"].get("StreamViewType", "NEW_AND_OLD_IMAGES")
        found: dict[str, Any] = dynamodb._build_change_record(table, event, old, new, view)
        return found
