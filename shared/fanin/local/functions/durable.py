"""Makes the emulator run durable functions as Lambda does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ministack.services import lambda_durable, lambda_svc

Update = Callable[[dict[str, Any], dict[str, Any]], None]


def apply() -> None:
    """Patch the emulator of this process."""
    # Else a function is durable only with a setting that no SDK sends.
    lambda_svc._build_config = enabled(lambda_svc._build_config)
    # Else a callback without a timeout, for which the SDK sends 0, times out at once.
    lambda_durable._apply_update = without_zeros(lambda_durable._apply_update)


def enabled(build: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return *build*, of the configuration of a function, with ``Enabled`` in each ``DurableConfig``."""

    def built(*args: Any) -> dict[str, Any]:
        config = build(*args)
        if "DurableConfig" in config:
            config["DurableConfig"] = {**config["DurableConfig"], "Enabled": True}
        return config

    return built


def without_zeros(apply_update: Update) -> Update:
    """Return *apply_update*, of a checkpoint, for which a timeout of 0 is none."""

    def applied(execution: dict[str, Any], update: dict[str, Any]) -> None:
        options = update.get("CallbackOptions") or {}
        given = {name: seconds for name, seconds in options.items() if seconds}
        apply_update(execution, {**update, "CallbackOptions": given})

    return applied
