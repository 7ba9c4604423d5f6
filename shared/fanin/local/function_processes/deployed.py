"""The deployed functions of a local run by handler, and changes of their environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def by_handler(lambda_: Any) -> dict[str, Mapping[str, Any]]:
    """Return the configurations of all deployed functions, ``....<name>.handler`` under ``<name>``."""
    pages = lambda_.get_paginator("list_functions").paginate()
    return {module_of(each["Handler"]): each for page in pages for each in page["Functions"]}


def module_of(handler: str) -> str:
    """Return ``<name>`` of ``functions.<name>.handler``, which has a dot for a function of the API."""
    return handler.removesuffix(".handler").rpartition("functions.")[2]


def name_of(configuration: Mapping[str, Any]) -> str:
    """Return the name by which people call a function: fanin's own by its handler, others by their name."""
    handler = configuration.get("Handler", "")
    is_short = ".functions." in f".{handler}"
    return module_of(handler) if is_short else str(configuration["FunctionName"])


def by_name(lambda_: Any) -> dict[str, Mapping[str, Any]]:
    """Return the configurations of all deployed functions by their names for people."""
    pages = lambda_.get_paginator("list_functions").paginate()
    return {name_of(each): each for page in pages for each in page["Functions"]}


def configure(lambda_: Any, names: Iterable[str], settings: Mapping[str, str]) -> None:
    """Add *settings* to the environment of the named functions, which then run in new processes."""
    deployed = by_handler(lambda_)
    for name in names:
        function = deployed[name]
        variables = {**function["Environment"]["Variables"], **settings}
        lambda_.update_function_configuration(
            FunctionName=function["FunctionName"], Environment={"Variables": variables}
        )
