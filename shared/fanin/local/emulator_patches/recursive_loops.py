"""Makes the emulator drop the invocations that Lambda drops: those of a recursive loop through SQS."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

from ministack.services import lambda_svc, sqs

from fanin.local.emulator_patches.lineage import INVOCATIONS_MAX, STOPPED, TRACE_HEADER, Chain

HEADER = "x-amzn-trace-id"
Answer = tuple[Any, ...]
Handle = Callable[[str, str, Mapping[str, str], bytes, Any], Awaitable[Answer]]
Execute = Callable[[Mapping[str, Any], Any], dict[str, Any]]

_received: ContextVar[str] = ContextVar("fanin_received", default="")
"""The trace header of the request that is served."""
_sent: ContextVar[str | None] = ContextVar("fanin_sent", default=None)
"""The trace header of the requests of the function that is invoked."""


def apply() -> None:
    """Patch the emulator of this process."""
    for service in (lambda_svc, sqs):
        service.handle_request = _traced(service.handle_request)
    sqs._build_send_sys_attrs = _with_trace(sqs._build_send_sys_attrs)
    lambda_svc._execute_function = counted(lambda_svc._execute_function)
    lambda_svc._xray_trace_id_for_invocation = lambda *_: _sent.get()


def counted(execute: Execute) -> Execute:
    """Return *execute* that drops what is invoked too often in one chain, and passes the chain on."""

    def execute_counted(function: Mapping[str, Any], event: Any) -> dict[str, Any]:
        name = (function.get("config") or function)["FunctionName"]
        chain = Chain.of_event(event) or Chain.parse(_received.get())
        depth = INVOCATIONS_MAX + chain.is_loop(name)
        if lambda_svc._recursive_loop_drop(name, function, depth):
            return {"error": True, "body": {"errorType": STOPPED, "errorMessage": f"{name} is in a loop"}}
        token = _sent.set(chain.with_invocation(name).header())
        try:
            return execute(function, event)
        finally:
            _sent.reset(token)

    return execute_counted


def _traced(handle: Handle) -> Handle:
    """Return *handle* with the trace header of its request in the context."""

    async def handle_traced(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Any
    ) -> Answer:
        _received.set(headers.get(HEADER, ""))
        return await handle(method, path, headers, body, query)

    return handle_traced


def _with_trace(
    attributes_of: Callable[[float, Any], dict[str, Any]],
) -> Callable[[float, Any], dict[str, Any]]:
    """Return *attributes_of*, a sent message, with the trace header of the request where it names none."""

    def attributes_with_trace(now: float, given: Any) -> dict[str, Any]:
        header = _received.get()
        return ({TRACE_HEADER: header} if header else {}) | attributes_of(now, given)

    return attributes_with_trace
