"""What ``--dynamodb`` names: the URL of an engine, or the folder of Amazon's DynamoDB Local."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from fanin.local.errors import LocalRunError

SETTING = "FANIN_LOCAL_DYNAMODB"
"""The environment variable that stands for the option."""
JAR = "DynamoDBLocal.jar"
PORTS = {"http": 80, "https": 443}
AWS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws", ".aws.dev")


@dataclass(frozen=True, slots=True)
class Address:
    """The *url* of an engine that runs, ``http://HOST:PORT``."""

    url: str


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder *path*, which has ``DynamoDBLocal.jar``."""

    path: Path


def parse(text: str) -> Address | Folder:
    """Return what *text* names. Raises LocalRunError with what to give in its place."""
    if "://" in text:
        return Address(_address(text))
    folder = Path(text).expanduser().resolve()
    if not folder.is_dir():
        raise LocalRunError(
            f"--dynamodb: {text!r} is neither a folder nor a URL; give the folder with {JAR}, or http://HOST:PORT"
        )
    if not (folder / JAR).is_file():
        raise LocalRunError(f"--dynamodb: there is no {JAR} in {folder}; give the folder that has it")
    return Folder(folder)


def _address(text: str) -> str:
    """Return the URL of *text*, with its port. Raises LocalRunError."""
    try:
        parts = urlsplit(text)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise LocalRunError(f"--dynamodb: {text!r} is no URL: {error}") from None
    host = (parts.hostname or "").rstrip(".")
    if not port or not host or parts.scheme not in PORTS or _has_more(parts):
        raise LocalRunError(f"--dynamodb: {text!r} is no URL of an engine; give http://HOST:PORT")
    if host.endswith(AWS):
        raise LocalRunError(
            f"--dynamodb: {host} is AWS, and a local run sends nothing there; name an engine on this machine"
        )
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _has_more(parts: SplitResult) -> bool:
    return bool(parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password)
