"""The layer of third-party packages and the project's own code, as the CDK deploys them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from infra.layer import Build, fill, install
from infra.paths import FUNCTIONS


def layer_code(build: Build) -> lambda_.Code:
    """Return the layer as an asset, which is built when the stack is synthesised."""
    return _asset(build.asset_hash(), lambda output: install(build, output / "python"))


def own_code(build: Build) -> lambda_.Code:
    """Return the project's own code as an asset, which is built when the stack is synthesised."""
    return _asset(build.code_hash(), lambda output: fill(build, output))


def _asset(asset_hash: str, make: Callable[[Path], None]) -> lambda_.Code:
    return lambda_.Code.from_asset(
        str(FUNCTIONS),  # never read: the bundling fills the asset
        asset_hash=asset_hash,
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=LocalBundling(make)),
    )


@jsii.implements(ILocalBundling)
class LocalBundling:
    """Fills the CDK's output folder by *make*, without a container."""

    def __init__(self, make: Callable[[Path], None]) -> None:
        self.make = make

    def try_bundle(self, output_dir: str, *_options: Any, **_named: Any) -> bool:
        """Fill *output_dir* and return True; raise if it fails, as there is no container."""
        self.make(Path(output_dir))
        return True
