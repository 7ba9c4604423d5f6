"""What a function of the user is given beside its grants: the environment of the client, and its layer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aws_cdk import Annotations, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin_cdk.grants.other_stacks import is_elsewhere
from fanin_cdk.packaging.packages import client_code
from fanin_cdk.settings.config import ConfigError

OLDEST = (3, 11)
"""The oldest Python that the client runs on."""
REACHED_BY = {
    "FANIN_URL": "batches",
    "FANIN_BATCHES_TABLE": "batches",
    "FANIN_QUEUE_TABLE": "jobs",
}
"""What a variable reaches: a function reaches that of one tracker."""


class Equipment:
    """Equips functions for *tracker*, each once; the layer is made in each stack that has such a function.

    The ARN of a layer changes with each version of its content, and CloudFormation does not change a value
    that another stack imports.
    """

    def __init__(self, tracker: Construct) -> None:
        self.tracker = tracker
        self.layers: dict[str, lambda_.LayerVersion] = {}
        self.layered: set[str] = set()

    def give(self, grantee: Any, environment: Mapping[str, str]) -> None:
        """Give *grantee* the *environment* and the layer, if it is a function, an alias or a version of one.

        Raises ConfigError for a function that reaches another tracker.
        """
        function = function_of(grantee)
        if function is None:
            self._warn_of_imported(grantee, environment)
            return
        self._claim(function, environment)
        for name, value in environment.items():
            function.add_environment(name, value)
        if _takes_layer(function) and function.node.path not in self.layered:
            self.layered.add(function.node.path)
            function.add_layers(self.layer_in(Stack.of(function)))

    def layer_in(self, stack: Stack) -> lambda_.LayerVersion:
        """Return the layer with the client in *stack*."""
        if stack.node.path not in self.layers:
            other = (stack, f"FaninClient{self.tracker.node.addr[-8:]}")
            scope, id_ = other if is_elsewhere(stack, self.tracker) else (self.tracker, "Client")
            about = "The client of fanin, for Python 3.11 and later"
            layer = lambda_.LayerVersion(scope, id_, code=client_code(scope), description=about)
            self.layers[stack.node.path] = layer
        return self.layers[stack.node.path]

    def _claim(self, function: lambda_.Function, environment: Mapping[str, str]) -> None:
        """Note the tracker that *function* reaches. Raises ConfigError if it is another one."""
        for reached in {REACHED_BY[name] for name in environment if name in REACHED_BY}:
            kind, mine = f"fanin:{reached}", self.tracker.node.path
            others = {each.data for each in function.node.metadata if each.type == kind} - {mine}
            if others:
                raise ConfigError(
                    f"{function.node.path} reaches the {reached} of {', '.join(sorted(others))} by its "
                    f"environment, which cannot name {mine} too: grant to its role, and give its client the "
                    "names in code"
                )
            function.node.add_metadata(kind, mine)

    def _warn_of_imported(self, grantee: Any, environment: Mapping[str, str]) -> None:
        if not hasattr(grantee, "function_arn"):
            return
        names = ", ".join(environment)
        Annotations.of(grantee).add_warning_v2(
            "fanin:imported_function",
            f"{grantee.node.path} is imported, so it gets grants alone: set {names}, and package the client",
        )


def function_of(grantee: Any) -> lambda_.Function | None:
    """Return the function that *grantee* is, or is a version or an alias of; None for all else."""
    while isinstance(grantee, lambda_.Alias | lambda_.Version):
        grantee = grantee.lambda_
    return grantee if isinstance(grantee, lambda_.Function) else None


def _takes_layer(function: lambda_.Function) -> bool:
    """Return whether *function* runs a Python of the client, from a zip, which a layer can extend."""
    version = re.fullmatch(r"python(\d+)\.(\d+)", function.runtime.name)
    return version is not None and (int(version[1]), int(version[2])) >= OLDEST
