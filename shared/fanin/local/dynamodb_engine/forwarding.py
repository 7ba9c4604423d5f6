"""Sends the emulator's requests about items to the engine."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from fanin.local.dynamodb_engine.engine import CONNECTIONS, JSON, TABLES, Answer, EngineLost

logger = logging.getLogger("fanin.local")

READS = frozenset({"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"})
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
STATEMENTS = frozenset({"ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"})
ITEMS = READS | WRITES | STATEMENTS
"""Operations of items; what describes tables stays with the emulator."""
Handle = Callable[[str, str, Mapping[str, str], bytes, Any], Awaitable[Any]]
Send = Callable[[str, bytes], Answer]


def forwarded(handle: Handle, send: Send) -> Handle:
    """Return *handle*, of the emulator's DynamoDB, whose requests about items *send* answers."""
    threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="dynamodb")

    async def handle_forwarded(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any
    ) -> Any:
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        if operation not in ITEMS:
            return await handle(method, path, headers, body, query)
        loop, context = asyncio.get_running_loop(), copy_context()
        return await loop.run_in_executor(threads, context.run, answered, send, operation, body)

    return handle_forwarded


def answered(send: Send, operation: str, body: bytes) -> Answer:
    """Return the engine's answer; one that was lost is an error of the server, which SDKs retry."""
    try:
        return send(f"{TABLES}.{operation}", body)
    except EngineLost as error:
        logger.warning("%s: %s", operation, error)
        document = {"__type": "InternalServerError", "message": "the engine of --dynamodb gave no answer"}
        return 500, {"content-type": JSON}, json.dumps(document).encode()
