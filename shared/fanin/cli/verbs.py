"""Registers the verbs of ``fanin``: their common options, and what a verb gets from them.

A verb is a function whose first argument is an :class:`Invocation`; ``@verb`` adds ``--url``, ``--stage``,
``--profile``, ``--region`` and ``--json``::

    verb = Verbs()  # which app.py adds to the command

    @verb("close", writes=True)
    def close(call: Invocation, batch: Batch) -> None:
        '''Close BATCH: its total is final.'''
        answer = call.api.post(call.path(batch, "/close"), {}, call.key, documents.closed_of)
        call.output.value(answer.document, answer.value.state)

It raises the errors of ``fanin.errors``, ``UsageError`` or ``Refused``; ``exits`` has their exit codes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from uuid import uuid4

import typer
from typer.core import TyperCommand

from fanin.cli.arguments.api import Answer, Api
from fanin.cli.arguments.names import BatchNames
from fanin.cli.arguments.where import Site, Where
from fanin.cli.terminal.output import Output, Progress, note
from fanin.client.http_bodies.codec import Document
from fanin.errors import StoreUnavailable

if TYPE_CHECKING:
    from fanin import Fanin

T = TypeVar("T")
Verb = Callable[..., None]
Url = Annotated[str | None, typer.Option("--url", metavar="URL", help="The URL of the API.")]
Stage = Annotated[
    str | None,
    typer.Option("--stage", metavar="NAME", help="The stage: the API of the stack Fanin-NAME."),
]
Profile = Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The profile of AWS.")]
Region = Annotated[str | None, typer.Option("--region", metavar="NAME", help="The region of AWS.")]
Json = Annotated[bool, typer.Option("--json", help="Print the API's documents; of a list, one a line.")]
WHERE = {"url": Url, "stage": Stage, "profile": Profile, "region": Region}


class Invocation:
    """One run of a verb: where the API is, and what is printed."""

    def __init__(self, name: str, where: Where, as_json: bool, writes: bool) -> None:
        self.name, self.where, self.writes = name, where, writes
        self.output = Output(as_json)
        self.progress = Progress()
        self.key = str(uuid4())

    @cached_property
    def site(self) -> Site:
        """The API; a verb that writes names its host on standard error."""
        site = self.where.site()
        if self.writes:
            note(f"{self.name} at {site.host}")
        return site

    @cached_property
    def api(self) -> Api:
        """The API's documents."""
        return Api(self.site.transport())

    @cached_property
    def fanin(self) -> Fanin:
        """The client, over the same transport."""
        from fanin import Fanin  # noqa: PLC0415  # with urllib3 it takes 0.1 s, and `--help` needs neither

        return Fanin(self.api.transport)

    @cached_property
    def names(self) -> BatchNames:
        """The ids of batches by their names."""
        return BatchNames(lambda: self.api)

    def create(
        self, path: str, body: Mapping[str, Any], reader: Callable[[Document], T], key: str | None
    ) -> Answer[T]:
        """Return the answer of a POST that is not repeatable without its *key*, which an error names."""
        key = key or self.key
        again = f"it may have been done: repeat it with --idempotency-key {key}"
        try:
            return self.api.post(path, body, key, reader)
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error}; {again}") from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt(again) from None

    def path(self, batch: str, action: str = "") -> str:
        """Return the path of the batch that BATCH names, an id or a user key."""
        return f"/v1/batches/{self.names.id_of(batch)}{action}"


class VerbCommand(TyperCommand):
    """A command whose usage names its arguments as the manual does: BATCH, and not {BATCH}."""

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the parts of the usage line."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]


class Verbs:
    """The verbs of one module, in the order of their definitions."""

    def __init__(self) -> None:
        self._commands: dict[str, Verb] = {}

    def __call__(
        self, name: str, *, writes: bool = False, options: Mapping[str, tuple[Any, Any]] | None = None
    ) -> Callable[[Verb], Verb]:
        """Return a decorator that registers a function as the verb *name*.

        *writes*: the verb changes something, so that it names the host, and needs one live batch of a key.
        *options*: annotations and defaults of those that the function takes as ``**options``.
        """

        def register(function: Verb) -> Verb:
            self._commands[name] = _command(name, function, writes, options or {})
            return function

        return register

    def add_to(self, app: typer.Typer) -> None:
        """Make the verbs commands of *app*."""
        for name, command in self._commands.items():
            app.command(name, cls=VerbCommand)(command)


def _command(name: str, function: Verb, writes: bool, options: Mapping[str, tuple[Any, Any]]) -> Verb:
    """Return *function* as typer takes it: without the invocation, and with the common options."""
    known = inspect.signature(function, eval_str=True).parameters.values()
    own = [each for each in known if each.kind is not Parameter.VAR_KEYWORD][1:]
    own += [_option(option, *given) for option, given in options.items()]
    common = [_option(option, annotation, None) for option, annotation in WHERE.items()]
    common.append(_option("as_json", Json, default=False))

    def command(**given: Any) -> None:
        where = Where(**{option: given.pop(option) for option in WHERE})
        function(Invocation(name, where, given.pop("as_json"), writes), **given)

    parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *common)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.writes = writes  # type: ignore[attr-defined]  # as `fanin mcp` asks
    return command


def _option(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
