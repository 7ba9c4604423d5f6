"""Makes the emulator run durable functions as Lambda does."""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from ministack.services import lambda_durable, lambda_svc
from ministack.services.cloudformation import provisioners

FUNCTION = "AWS::Lambda::Function"
PAUSE_SECONDS = 0.05
"""After which an execution is looked at again that was not resumed because it runs."""
Update = Callable[[dict[str, Any], dict[str, Any]], None]
Create = Callable[[str, dict[str, Any], str], tuple[str, dict[str, str]]]
Execute = Callable[[Mapping[str, Any], Any], dict[str, Any]]
Resume = Callable[..., None]

_is_event: ContextVar[bool] = ContextVar("fanin_is_event", default=False)
"""Whether the caller does not wait for the function that is invoked."""


def apply() -> None:
    """Patch the emulator of this process."""
    # Else a function is durable only with a setting that no SDK sends.
    lambda_svc._build_config = enabled(lambda_svc._build_config)
    # Else no function of a template is durable.
    provisioners._lambda_create = with_config(provisioners._lambda_create)
    provisioners._RESOURCE_HANDLERS[FUNCTION]["create"] = provisioners._lambda_create
    # Else a callback without a timeout, for which the SDK sends 0, times out at once, and a step that fails
    # is retried for ever.
    lambda_durable._apply_update = counting(without_zeros(lambda_durable._apply_update))
    # Else an execution whose callback ends while its function runs is resumed beside itself, and fails.
    invocations = Invocations()
    lambda_svc._execute_function = invocations.noted(lambda_svc._execute_function)
    lambda_durable._resume_execution = invocations.awaited(lambda_durable._resume_execution)
    # Else the answer to an invocation of the type Event is dropped: none of its steps is retried.
    lambda_svc._execute_function = settled(lambda_svc._execute_function)
    lambda_svc.invoke_async_with_retry = as_event(lambda_svc.invoke_async_with_retry)


def enabled(build: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return *build*, of the configuration of a function, with ``Enabled`` in each ``DurableConfig``."""

    def built(*args: Any) -> dict[str, Any]:
        config = build(*args)
        if "DurableConfig" in config:
            config["DurableConfig"] = {**config["DurableConfig"], "Enabled": True}
        return config

    return built


def with_config(create: Create) -> Create:
    """Return *create*, of a function of a template, which keeps the ``DurableConfig`` of its properties."""

    def created(logical_id: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, str]]:
        name, attributes = create(logical_id, properties, stack)
        if durable := properties.get("DurableConfig"):
            lambda_svc._functions[name]["config"]["DurableConfig"] = {**durable, "Enabled": True}
        return name, attributes

    return created


def without_zeros(apply_update: Update) -> Update:
    """Return *apply_update*, of a checkpoint, for which a timeout of 0 is none."""

    def applied(execution: dict[str, Any], update: dict[str, Any]) -> None:
        options = update.get("CallbackOptions") or {}
        given = {name: seconds for name, seconds in options.items() if seconds}
        apply_update(execution, {**update, "CallbackOptions": given})

    return applied


def counting(apply_update: Update) -> Update:
    """Return *apply_update*, of a checkpoint, that counts an attempt of a step that is to be retried."""

    def applied(execution: dict[str, Any], update: dict[str, Any]) -> None:
        apply_update(execution, update)
        if (update["Type"], update["Action"]) == ("STEP", "RETRY"):
            (step,) = (each for each in execution["Operations"] if each["Id"] == update["Id"])
            step["StepDetails"]["Attempt"] += 1

    return applied


class Invocations:
    """The durable executions with an invocation under way: Lambda never invokes one twice at once."""

    def __init__(self) -> None:
        self._running: set[str] = set()

    def noted(self, execute: Execute) -> Execute:
        """Return *execute*, of a function with an event, that notes its execution while it runs."""

        def executed(function: Mapping[str, Any], event: Any) -> dict[str, Any]:
            execution = event.get("DurableExecutionArn") if isinstance(event, dict) else None
            if execution is None:
                return execute(function, event)
            self._running.add(execution)
            try:
                return execute(function, event)
            finally:
                self._running.discard(execution)

        return executed

    def awaited(self, resume: Resume) -> Resume:
        """Return *resume*, of an execution, that is called once no invocation of it is under way."""

        def resumed(execution: str, *scope: Any) -> None:
            if execution not in self._running:
                resume(execution, *scope)
                return
            again = (time.time() + PAUSE_SECONDS, execution, *scope)
            with lambda_durable._resume_lock:
                heapq.heappush(lambda_durable._resume_queue, again)

        return resumed


def as_event(invoke: Callable[..., None]) -> Callable[..., None]:
    """Return *invoke*, of a function whose caller does not wait, which says so to what it starts."""

    def invoked(*args: Any) -> None:
        token = _is_event.set(True)
        try:
            invoke(*args)
        finally:
            _is_event.reset(token)

    return invoked


def settled(execute: Execute) -> Execute:
    """Return *execute*, which ends or resumes the execution whose answer no caller reads."""

    def executed(function: Mapping[str, Any], event: Any) -> dict[str, Any]:
        result = execute(function, event)
        if _is_event.get() and isinstance(event, dict) and "DurableExecutionArn" in event:
            _settle(event["DurableExecutionArn"], answer_of(result))
        return result

    return executed


def answer_of(result: Mapping[str, Any]) -> Any:
    """Return the answer of a function, parsed from JSON if it is a text; None for another text."""
    body = result.get("body")
    try:
        return json.loads(body) if isinstance(body, str | bytes) else body
    except ValueError:
        return None


def _settle(execution: str, answer: Any) -> None:
    match answer:
        case {"Status": "PENDING"}:
            lambda_durable.schedule_resume(execution)
        case {"Status": "SUCCEEDED" | "FAILED"}:
            lambda_durable.mark_execution_completed(execution, answer.get("Result"), answer.get("Error"))
