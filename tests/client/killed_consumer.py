"""A Lambda function that is killed by the records in which it finds poison; run as a process of its own.

It reads deliveries from its input, a line of JSON each, and settles each one in a fork of itself, because a
function that is killed starts anew. It answers with the partial batch response, or null for a killed one.
Its argument is the URL of the API.
"""

from __future__ import annotations

import json
import os
import sys

from fanin import Fanin
from fanin.client.consuming.consumer import Consumer

POISON = "poison"
OUT_OF_MEMORY = 137


def work(record):
    """Die as a process does that has no memory left: nothing after it runs, and no answer is sent."""
    if POISON in json.loads(record["body"]):
        os._exit(OUT_OF_MEMORY)


def main(url):
    consumer = Consumer(Fanin(url)._transport, work)
    for line in sys.stdin:
        print(json.dumps(settled(consumer, json.loads(line))), flush=True)


def settled(consumer, event):
    """Return the response of a fork of this process, or None if the fork was killed."""
    reading, writing = os.pipe()
    if not os.fork():
        os.write(writing, json.dumps(consumer.settle(event).response()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.wait()
    return json.loads(text) if text else None


if __name__ == "__main__":
    main(*sys.argv[1:])
