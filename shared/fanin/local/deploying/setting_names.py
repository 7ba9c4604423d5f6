"""Which names of a CDK context are settings of the stack."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import get_type_hints

from fanin.local.errors import LocalRunError


def refuse_unknown(given: Iterable[str]) -> None:
    """Raise LocalRunError for a name that is no setting: the CDK ignores it.

    Names with a colon are the CDK's own. Settings of a clone pass: outside of one, the stack refuses them.
    """
    names = sorted(name for name in given if ":" not in name)
    if not names:
        return
    from fanin_cdk.settings.config import (  # noqa: PLC0415  # it takes 0.3 s, and few runs have settings
        OF_A_CLONE,
        Config,
    )

    known = sorted({*get_type_hints(Config), "stages"})
    unknown = [name for name in names if name not in known and not OF_A_CLONE.fullmatch(name)]
    if unknown:
        near = get_close_matches(unknown[0], known, n=1)
        meant = f", did you mean {near[0]}?" if near else ";"
        raise LocalRunError(f"there is no setting {unknown[0]}{meant} docs/settings.md lists them")
