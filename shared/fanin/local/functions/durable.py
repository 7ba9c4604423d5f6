"""Makes the emulator run each function with a ``DurableConfig`` as a durable function, as Lambda does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.services import lambda_svc


def apply() -> None:
    """Patch the emulator of this process, which wants ``Enabled`` too; no SDK sends it."""
    lambda_svc._build_config = enabled(lambda_svc._build_config)


def enabled(build: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return *build*, of the configuration of a function, with ``Enabled`` in each ``DurableConfig``."""

    def built(*args: Any) -> dict[str, Any]:
        config = build(*args)
        if "DurableConfig" in config:
            config["DurableConfig"] = {**config["DurableConfig"], "Enabled": True}
        return config

    return built
