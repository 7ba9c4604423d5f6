"""Makes the emulator note the invocations that fail, so that `up`, `wait` and `watch` can show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ministack.services import lambda_svc

from fanin.local.failures import FailureLog
from fanin.local.function_processes.deployed import name_of

Execute = Callable[[Mapping[str, Any], Any], dict[str, Any]]
UNNAMED = "Runtime.HandlerError"
"""The emulator's type of each error of a handler; the log ends with its own."""


def apply(directory: Path) -> None:
    """Patch the emulator of this process, whose run has this *directory*."""
    lambda_svc._execute_function = noted(lambda_svc._execute_function, FailureLog(directory))


def noted(execute: Execute, log: FailureLog) -> Execute:
    """Return *execute* that adds each failure to *log*: an error, or messages that return."""

    def execute_noted(function: Mapping[str, Any], event: Any) -> dict[str, Any]:
        result = execute(function, event)
        if error := error_of(result, event):
            log.add(name_of(function.get("config") or function), error)
        return result

    return execute_noted


def error_of(result: Any, event: Any) -> str:
    """Return what went wrong in an invocation, or nothing."""
    if not isinstance(result, dict):
        return ""
    body = result.get("body")
    if result.get("error"):
        return _named(body if isinstance(body, dict) else {}, str(result.get("log", "")))
    returned = body.get("batchItemFailures") if isinstance(body, dict) else None
    if returned:
        return f"{len(returned)} of {len(event['Records'])} messages return"
    return ""


def _named(body: Mapping[str, Any], log: str) -> str:
    lines = log.strip().splitlines()
    kind, message = body.get("errorType"), body.get("errorMessage", "")
    if kind in (None, UNNAMED):
        return lines[-1] if lines and str(message).strip()[:20] in lines[-1] else str(message)
    return f"{kind}: {message}"
