"""Builds the webhooks, once a process; only the function that calls them imports this module."""

from __future__ import annotations

from functools import lru_cache, partial

from fanin.aws import clients
from fanin.aws.messaging.visibility import Visibility
from fanin.aws.rotating_secret import Refreshed
from fanin.callbacks import Callback, callbacks_of
from fanin.callbacks.delivering import Deliverer
from fanin.callbacks.http import Webhook
from fanin.callbacks.secrets import keys_of
from fanin.grouper.settings.endpoints import Secret
from fanin.pacing import each_in_threads
from functions.wiring.consuming import isolate
from functions.wiring.deployed import settings_file
from functions.wiring.starting import at_start


@lru_cache(maxsize=1)
def deliverer() -> Deliverer:
    """Return what delivers the messages of the webhooks' queue."""
    found = callbacks_of(settings_file().callbacks)
    webhooks = {each.name: _webhook(each, each.secret) for each in found if each.secret}
    return Deliverer(webhooks, isolate, Visibility(clients.sqs()).hide, each_in_threads)


def _webhook(callback: Callback, secret: Secret) -> Webhook:
    client = clients.secrets.within(secret.arn.split(":")[3])
    keys = Refreshed(partial(keys_of, client, secret.arn), secret.refresh)
    return Webhook(callback.url, callback.timeout, keys)


at_start(clients.sqs, clients.secrets)
