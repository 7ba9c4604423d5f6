"""The functions of a local run by their handlers, and what they are told while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def by_handler(lambda_: Any) -> dict[str, Mapping[str, Any]]:
    """The configurations of all deployed functions; ``functions.<name>.handler`` goes by ``<name>``."""
    pages = lambda_.get_paginator("list_functions").paginate()
    return {each["Handler"].split(".")[1]: each for page in pages for each in page["Functions"]}


def tell(lambda_: Any, names: Iterable[str], settings: Mapping[str, str]) -> None:
    """Add *settings* to the environment of the named functions: each runs in new processes from now on."""
    deployed = by_handler(lambda_)
    for name in names:
        function = deployed[name]
        told = {**function["Environment"]["Variables"], **settings}
        lambda_.update_function_configuration(
            FunctionName=function["FunctionName"], Environment={"Variables": told}
        )
