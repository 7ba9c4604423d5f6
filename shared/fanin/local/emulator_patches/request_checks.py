"""Makes the emulator refuse what AWS refuses: each request is checked before the emulator sees it."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ministack.core.responses import error_response_json
from ministack.services import dynamodb, eventbridge, sqs, stepfunctions

from fanin.cost.sizes import Row
from fanin.local.emulator_patches import read_units
from fanin.local.request_rules import Refused, TableKeys, Tables, check

logger = logging.getLogger("fanin.local")

REFUSED = "refused as AWS refuses it"
Answer = tuple[Any, ...]
Handle = Callable[[str, str, Mapping[str, str], bytes, Any], Awaitable[Answer]]


def apply() -> None:
    """Patch the emulator of this process."""
    for service in (dynamodb, eventbridge, sqs, stepfunctions):
        service.handle_request = checked(service.handle_request, Stored())


class Stored(Tables):
    """The keys and the rows of the emulator's tables."""

    def of(self, name: str) -> TableKeys | None:
        table = dynamodb._tables.get(name.rpartition("/")[2])
        if table is None:
            return None
        version = f"{table['TableId']} {len(table['GlobalSecondaryIndexes'])}"
        if version not in self:
            self[version] = TableKeys.of(table)
        return self[version]

    def stored(self, name: str, key: Row, /) -> Row:
        return read_units.stored(name, key)


def checked(handle: Handle, tables: Tables) -> Handle:
    """Return *handle* behind the rules of AWS; a request that it cannot read is left to it."""

    async def handle_checked(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any
    ) -> Answer:
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        try:
            check(operation, json.loads(body or b"{}"), tables)
        except Refused as refused:
            logger.warning("%s %s: %s", operation, REFUSED, refused)
            return error_response_json(refused.code, str(refused), 400)  # type: ignore[no-any-return]
        except (ValueError, KeyError, TypeError, AttributeError):
            logger.debug("the emulator answers a malformed %s", operation)
        return await handle(method, path, headers, body, query)

    return handle_checked
