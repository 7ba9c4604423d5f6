"""Checks what ``--dynamodb`` names before a run starts."""

from __future__ import annotations

from fanin.local.dynamodb_engine import amazon
from fanin.local.dynamodb_engine.dynamodb_option import Folder, parse
from fanin.local.dynamodb_engine.engine import Engine, require


def checked(text: str) -> str:
    """Return *text* as a URL or an absolute path. Raises LocalRunError if a run cannot use what it names."""
    given = parse(text)
    if isinstance(given, Folder):
        amazon.require_java()
        return str(given.path)
    require(Engine(given.url))
    return given.url
