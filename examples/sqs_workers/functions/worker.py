"""Indexes a row; the return acks its item, Failed fails it, any other exception returns the message."""

import json
from typing import Any

from fanin import Fanin

fanin = Fanin()


@fanin.acks
def handler(record: dict[str, Any]) -> None:
    row = json.loads(record["body"])["row"]
    if not row["title"]:
        raise fanin.Failed("no title")
    print("indexed", row["title"])  # stands for your work
