"""A deployed stage: its outputs, its functions, its API, and what the smoke test has to remove."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from uuid import uuid4

import boto3

from fanin import Fanin
from fanin.cli.arguments.where import STACK_PREFIX
from fanin.client.transports.http import HttpTransport
from fanin.local.function_processes.deployed import module_of

T = TypeVar("T")

WAIT_SECONDS = 120.0
LOOK_SECONDS = 0.5


class Failed(Exception):
    """A step saw something else than it should."""


@dataclass
class Stage:
    """The stack *stack* in the account and Region of *session*; an *endpoint* where AWS is emulated."""

    stack: str
    session: Any
    endpoint: str | None = None
    url: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    name: str = field(default_factory=lambda: f"smoke-{uuid4().hex[:8]}")
    cleaning: list[tuple[str, Callable[[], object]]] = field(default_factory=list)

    @classmethod
    def of(cls, stage: str) -> Stage:
        """Return the stage *stage* of the account of the environment's credentials."""
        found = cls(f"{STACK_PREFIX}{stage}", boto3.Session(region_name=os.environ.get("AWS_REGION")))
        (stack,) = found.client("cloudformation").describe_stacks(StackName=found.stack)["Stacks"]
        found.outputs = {each["OutputKey"]: each["OutputValue"] for each in stack.get("Outputs", ())}
        found.url = found.outputs["ApiUrl"].rstrip("/")
        return found

    @classmethod
    def of_run(cls, run: Any) -> Stage:
        """Return the stage that a local run deployed."""
        session = boto3.Session("testing", "testing", region_name="us-east-1")
        return cls("Fanin-local", session, run.endpoint, run.url, dict(run.outputs))

    def client(self, service: str) -> Any:
        """Return a client of AWS."""
        return self.session.client(service, endpoint_url=self.endpoint)

    @cached_property
    def fanin(self) -> Fanin:
        """The client of the API, which is signed by the environment's credentials."""
        return Fanin(self.url)

    @cached_property
    def transport(self) -> HttpTransport:
        """The transport under the client, for fields that the client does not return."""
        return HttpTransport(self.url)

    @cached_property
    def resources(self) -> dict[str, list[str]]:
        """The physical ids of the stack's resources by type."""
        found: dict[str, list[str]] = {}
        pages = self.client("cloudformation").get_paginator("list_stack_resources")
        for page in pages.paginate(StackName=self.stack):
            for each in page["StackResourceSummaries"]:
                found.setdefault(each["ResourceType"], []).append(each["PhysicalResourceId"])
        return found

    @cached_property
    def functions(self) -> dict[str, str]:
        """The stack's functions by the name of their module."""
        lambda_ = self.client("lambda")
        names = self.resources.get("AWS::Lambda::Function", [])
        handlers = {
            name: lambda_.get_function_configuration(FunctionName=name).get("Handler", "") for name in names
        }
        return {
            module_of(handler): name for name, handler in handlers.items() if handler.startswith("functions.")
        }

    def invoke(self, module: str, event: object) -> Any:
        """Invoke a function; return its answer, or raise Failed."""
        answer = self.client("lambda").invoke(
            FunctionName=self.functions[module], Payload=json.dumps(event).encode()
        )
        body = answer["Payload"].read().decode()
        if answer.get("FunctionError"):
            raise Failed(f"{module}: {body[:300]}")
        return json.loads(body or "null")

    def get(self, path: str) -> Any:
        """Return the answer of the API to a GET."""
        return self.transport._get(path, {}, lambda found: found)

    def until(self, what: str, look: Callable[[], T | None]) -> T:
        """Return what *look* finds, or raise Failed after two minutes."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            time.sleep(LOOK_SECONDS)
        raise Failed(f"{what}: not within {WAIT_SECONDS:.0f} s")

    def clean_later(self, what: str, undo: Callable[[], object]) -> None:
        """Remember to *undo* at the end."""
        self.cleaning.append((what, undo))
