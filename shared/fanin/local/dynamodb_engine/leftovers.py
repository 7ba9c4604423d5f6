"""The tables that a run made in an engine of the user's, which are deleted at its end, or after a crash."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

FILE = "dynamodb.json"


def note(directory: Path, url: str, tables: Sequence[str]) -> None:
    """Write to the run's *directory* which *tables* the engine at *url* has of it."""
    draft = directory / f"{FILE}.draft"
    draft.write_text(json.dumps({"url": url, "tables": list(tables)}))
    draft.replace(directory / FILE)


def delete(directory: Path) -> None:
    """Delete the noted tables, as far as the engine answers."""
    try:
        noted = json.loads((directory / FILE).read_text())
    except (FileNotFoundError, ValueError):
        return
    # A command that ends no such run does not load urllib3.
    from fanin.local.dynamodb_engine.engine import Engine, EngineLost, EngineRefusal  # noqa: PLC0415  # see above

    engine = Engine(noted["url"])
    with suppress(EngineLost):
        for table in noted["tables"]:
            with suppress(EngineRefusal):
                engine.ask("DeleteTable", {"TableName": table})
    (directory / FILE).unlink(missing_ok=True)
