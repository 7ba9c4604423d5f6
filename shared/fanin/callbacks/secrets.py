"""The keys that sign the requests of a webhook, from Secrets Manager: the current one, and the one before.

A rotation stores a new value, and Secrets Manager keeps the previous one under the label ``AWSPREVIOUS``. A
request is signed with both, so a receiver may use either.
"""

from __future__ import annotations

import re
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from fanin.aws.calls import send
from fanin.aws.rotating_secret import SecretUnreadable, reason_of
from fanin.errors import FaninError

KEY = re.compile(r"[\x21-\x7e]{16,4096}")
CURRENT, PREVIOUS = "AWSCURRENT", "AWSPREVIOUS"
Keys = tuple[str, ...]


def keys_of(client: Any, secret: str) -> Keys:
    """Return the keys of *secret*, the current one first. Raises SecretUnreadable, without any value."""
    current = _key(client, secret, CURRENT)
    if current is None or not KEY.fullmatch(current):
        raise SecretUnreadable("the secret of a webhook must be 16 to 4096 printable characters of ASCII")
    previous = _key(client, secret, PREVIOUS)
    return (current, previous) if previous and KEY.fullmatch(previous) else (current,)


def _key(client: Any, secret: str, label: str) -> str | None:
    """Return the value of a version; None if the secret has none of this label."""
    try:
        return send(client.get_secret_value, {"SecretId": secret, "VersionStage": label}).get("SecretString")
    except (FaninError, ClientError, BotoCoreError) as error:
        reason = reason_of(error)
        if label == PREVIOUS and reason == "ResourceNotFoundException":
            return None
        raise SecretUnreadable(f"the secret of a webhook cannot be read: {reason}") from error
