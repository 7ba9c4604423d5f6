"""The connection of AWS clients to the emulator: its endpoint, and test credentials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REGION = "us-east-1"
ACCOUNT = "000000000000"
"""The emulator's account id, which is also the tenant of all requests to the local run."""

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": REGION,
}
# An empty mapping, not None: the proxy of the user's environment is not used for loopback.
SETTINGS: dict[str, Any] = {"retries": {"mode": "standard"}, "max_pool_connections": 40, "proxies": {}}


@dataclass(frozen=True, slots=True)
class Connection:
    """Makes boto3 clients of the emulator at *endpoint*, a URL."""

    endpoint: str

    def client(self, service: str) -> Any:
        """Return a boto3 client of *service*, without the user's profiles and credentials."""
        import boto3  # noqa: PLC0415  # `fanin local env` needs no client, and boto3 takes 0.3 s
        from botocore.config import Config  # noqa: PLC0415  # takes 0.1 s

        return boto3.client(  # type: ignore[call-overload]
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            config=Config(**SETTINGS),
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which any AWS SDK reaches the emulator."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.endpoint}
