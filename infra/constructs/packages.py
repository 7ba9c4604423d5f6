"""The layer of third-party packages as the CDK deploys it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from infra.layer import Build, install
from infra.paths import FUNCTIONS


def layer_code(build: Build) -> lambda_.Code:
    """Return the layer as an asset, which is built when the stack is synthesised."""
    return lambda_.Code.from_asset(
        str(FUNCTIONS),  # never read: the bundling fills the asset
        asset_hash=build.asset_hash(),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=LayerBundling(build)),
    )


@jsii.implements(ILocalBundling)
class LayerBundling:
    """Runs a Build in the CDK's output folder, without a container."""

    def __init__(self, build: Build) -> None:
        self.build = build

    def try_bundle(self, output_dir: str, *_options: Any, **_named: Any) -> bool:
        """Install into *output_dir*/python and return True; raise if it fails, as there is no container."""
        install(self.build, Path(output_dir) / "python")
        return True
