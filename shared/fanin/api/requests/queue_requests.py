"""The request bodies of the routes that administer work queues."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from fanin.api.cursors.queue_cursors import ROW_CURSOR_FORM
from fanin.api.requests.bodies import Body
from fanin.api.requests.job_requests import JobKeyText
from fanin.queue.administration.paging import Record
from fanin.queue.rules.row_texts import record_of

NAMED_MAX = 100
RowText = Annotated[str, StringConstraints(pattern=ROW_CURSOR_FORM)]
DeadIds = Annotated[
    list[RowText],
    Field(min_length=1, max_length=NAMED_MAX, description="Dead jobs, by the `deadId` of their list."),
]


class ReviveBody(Body):
    """The dead jobs to revive: those of *deadIds*, or *all*, of which a request revives up to 100."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["deadIds"]}, {"required": ["all"]}]})

    dead_ids: DeadIds | None = None
    all: Annotated[
        Literal[True] | None,
        Field(description="Up to 100 of all dead jobs, the longest dead first."),
    ] = None
    cursor: Annotated[
        RowText | None,
        Field(description="With `all`: the `cursor` of the answer before; without it, the first ones."),
    ] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.dead_ids is None) == (self.all is None):
            raise PydanticCustomError("either", "pass either deadIds or all")
        if self.cursor is not None and self.all is None:
            raise PydanticCustomError("cursor", "a cursor belongs to all")
        return self

    def records(self) -> list[Record]:
        """Return the dead jobs of *deadIds*."""
        return [record_of(each) for each in self.dead_ids or []]


class DeleteJobsBody(Body):
    """The jobs to delete, by their keys, and the dead jobs, by their ids."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["keys"]}, {"required": ["deadIds"]}]}
    )

    keys: Annotated[
        list[JobKeyText] | None,
        Field(min_length=1, max_length=NAMED_MAX, description="The keys of queued or delayed jobs."),
    ] = None
    dead_ids: DeadIds | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.keys is None and self.dead_ids is None:
            raise PydanticCustomError("some", "pass keys, deadIds or both")
        return self

    def records(self) -> list[Record]:
        """Return the dead jobs of *deadIds*."""
        return [record_of(each) for each in self.dead_ids or []]
