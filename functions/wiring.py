"""What the handlers are made of, built once a process and when first needed."""

from functools import lru_cache

from fanin.aws import clients
from fanin.aws.settings import Settings
from fanin.client.direct import DirectTransport
from fanin.errors import InvalidRequest
from fanin.tracker import Tracker
from fanin.tracker.dynamodb import DynamoStore


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The environment, read once; what is missing there is a fault of the deployment, not of a caller."""
    try:
        return Settings.from_env()
    except InvalidRequest as error:
        raise RuntimeError(str(error)) from error


@lru_cache(maxsize=1)
def tracker() -> Tracker:
    """The tracker over the deployed tables."""
    store = DynamoStore(clients.dynamodb(), settings().tables)
    return Tracker(store, page_bits=settings().page_bits)


@lru_cache(maxsize=1)
def transport() -> DirectTransport:
    """The tracker as a consumer uses it, on behalf of the account's own tenant."""
    return DirectTransport(tracker(), settings().tenant)
