"""moto works out anew for each request what depends on a class or a shape alone; here it is kept."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any
from unittest.mock import patch

import botocore


def install() -> None:
    """Keep it from the first session on that is created with moto loaded."""
    botocore.register_initializer(lambda _session: _keep() if "moto.core.responses" in sys.modules else None)


@cache
def _keep() -> None:
    from moto.core import responses, serialize
    from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser

    node_kinds = DepthFirstTraverser.nodes_to_be_processed
    one_member = serialize.ResponseSerializer._serialize_structure_member
    kinds: dict[type, Any] = {}

    def kept_node_kinds(traverser: Any) -> Any:
        if type(traverser) not in kinds:
            kinds[type(traverser)] = node_kinds(traverser)
        return kinds[type(traverser)]

    def member(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
        """An attribute value has one of ten members; the others are not looked for under other names."""
        if type(value) is not dict or key in value or shape.parent.name != "AttributeValue":
            one_member(serializer, serialized, value, shape, key)

    patch.object(responses, "method_names_from_class", cache(responses.method_names_from_class)).start()
    patch.object(DepthFirstTraverser, "nodes_to_be_processed", kept_node_kinds).start()
    patch.object(serialize.ResponseSerializer, "_serialize_structure_member", member).start()
