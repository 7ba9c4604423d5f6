"""Works on an order; the return acks its item."""

import json
from typing import Any

from fanin import Fanin

fanin = Fanin()


@fanin.acks
def handler(record: dict[str, Any]) -> None:
    order = json.loads(record["body"])["row"]
    print("packed", order)  # stands for your work
