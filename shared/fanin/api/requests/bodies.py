"""The base of the bodies of requests, and the forms of ids in them."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from fanin.errors import InvalidRequest
from fanin.item_ids import ItemId

UUID_FORM = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
ITEM_FORM = UUID_FORM[:-1] + ":" + UUID_FORM[1:-1] + r":(0|[1-9][0-9]{0,18})$"


class Body(BaseModel):
    """The base of all bodies: no value is converted, and unknown fields are refused."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=to_camel, hide_input_in_errors=True
    )


def canonical(text: str) -> str:
    """Return the item id in *text*, in its canonical form."""
    try:
        return str(ItemId.parse(text))
    except InvalidRequest as error:
        raise PydanticCustomError("item_id", "{reason}", {"reason": str(error)}) from error


Uuid = Annotated[str, StringConstraints(pattern=UUID_FORM)]
ItemIdText = Annotated[
    str,
    StringConstraints(pattern=ITEM_FORM),
    AfterValidator(canonical),
    Field(description="`batchId:groupId:index`, the index from 0 to `upto - 1` without leading zeros."),
]
