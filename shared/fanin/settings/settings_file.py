"""The settings file: the lists of a deployment, as ``functions/settings.json`` in the code of the functions.

The stack writes it at synthesis. It has no limit of its own, is replaced in one step with the code, and is
read without a request. The alternatives are smaller: the environment of a Lambda function is limited to 4 KB
as a whole, an SSM parameter to 4 KB or 8 KB. A parameter and a row of a table also need a request at each
start and a grant for each function, and change at another moment than the code.

It cannot hold what CloudFormation knows only at deployment, such as the URL of a queue of the stack. Those
values are in the environment, where their number must not depend on the length of a list.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from fanin.errors import InvalidRequest
from fanin.names import RESUMED_TASK

NAME = "settings.json"
VARIABLE = "FANIN_SETTINGS"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The content of the settings file; a name that is left out is empty.

    ``dead_letter_tenants``: the tenant of the items of a dead-letter queue by its ARN, if it is not
    ``FANIN_TENANT``.
    ``grouper_policies``, ``grouper_downstream``: a row for each pattern of targets, in the form that
    ``fanin.grouper.settings.parsing`` defines.
    ``grouper_target``: the template of the targets of tasks that are registered without one.
    ``callbacks``: a row for each callback, in the form that ``fanin.callbacks.parsing`` defines.
    ``publications``: a row for each source and its queue, in the form that ``fanin.s3_publications.parsing``
    defines.
    ``resumed_state_machines``, ``resumed_durable_functions``: the ARNs of the state machines whose tasks may
    end with a batch, and of the Lambda functions whose callbacks may.
    ``quotas``: the limits of each tenant by the name of the quota; ``fanin.quotas.model`` has the names.
    """

    dead_letter_tenants: Mapping[str, str] = field(default_factory=dict)
    grouper_policies: Rows = ()
    grouper_downstream: Rows = ()
    grouper_target: str = ""
    callbacks: Rows = ()
    publications: Rows = ()
    resumed_state_machines: Sequence[str] = ()
    resumed_durable_functions: Sequence[str] = ()
    quotas: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("dead_letter_tenants", _is_texts(self.dead_letter_tenants), "an object of texts")
        _check("grouper_policies", _is_rows(self.grouper_policies), "a list of objects")
        _check("grouper_downstream", _is_rows(self.grouper_downstream), "a list of objects")
        _check("grouper_target", isinstance(self.grouper_target, str), "a text")
        _check("callbacks", _is_rows(self.callbacks), "a list of objects")
        _check("publications", _is_rows(self.publications), "a list of objects")
        for name in ("resumed_state_machines", "resumed_durable_functions"):
            _check(name, _is_list_of_texts(getattr(self, name)), "a list of texts")
        _check("quotas", _is_limits(self.quotas), "an object of whole numbers from 1")

    def resumed(self, kind: str) -> Sequence[str]:
        """Return the ARNs of what may wait with a *kind* of token."""
        return self.resumed_state_machines if kind == RESUMED_TASK else self.resumed_durable_functions

    @classmethod
    def parse(cls, text: str, source: str = NAME) -> SettingsFile:
        """Return the settings in *text*. Raises InvalidRequest, which names *source* or the invalid field."""
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"{source} is not JSON: {error}") from error
        if not isinstance(given, dict):
            raise InvalidRequest(f"{source} takes a JSON object")
        unknown = sorted(given.keys() - {each.name for each in fields(cls)})
        if unknown:
            raise InvalidRequest(f"{source} has an unknown name: {', '.join(unknown)}", field=unknown[0])
        return cls(**given)

    @classmethod
    def read(cls, folder: Path, env: Mapping[str, str] | None = None) -> SettingsFile:
        """Read the file in *folder*. Raises InvalidRequest.

        The variable ``FANIN_SETTINGS``, its text, replaces it: the local run has no other way to change the
        settings of a function that is deployed.
        """
        text = (os.environ if env is None else env).get(VARIABLE)
        if text is not None:
            return cls.parse(text, VARIABLE)
        try:
            return cls.parse((folder / NAME).read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise InvalidRequest(f"{NAME} is not JSON: {error}") from error
        except FileNotFoundError as error:
            raise InvalidRequest(f"{folder / NAME} is missing: the stack writes it at synthesis") from error

    def to_json(self) -> str:
        """Return the file's text: the same settings have the same text."""
        return json.dumps(asdict(self), indent=1, sort_keys=True) + "\n"


def _check(name: str, holds: bool, takes: str) -> None:
    if not holds:
        raise InvalidRequest(f"{name} takes {takes}", field=name)


def _is_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values())


def _is_limits(value: object) -> bool:
    return isinstance(value, Mapping) and all(type(each) is int and each > 0 for each in value.values())


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _is_rows(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)
