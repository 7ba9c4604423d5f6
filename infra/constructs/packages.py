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
    """The layer as an asset that is built only when a stack is really synthesised."""
    return lambda_.Code.from_asset(
        str(FUNCTIONS),  # never read: the bundling fills the asset
        asset_hash=build.asset_hash(),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=LayerBundling(build)),
    )


@jsii.implements(ILocalBundling)
class LayerBundling:
    """Carries a Build out in the folder that the CDK names; no container is ever started."""

    def __init__(self, build: Build) -> None:
        self.build = build

    def try_bundle(self, output_dir: str, *_options: Any, **_named: Any) -> bool:
        """Fill *output_dir*/python. A failure is an error: there is no container to fall back on."""
        install(self.build, Path(output_dir) / "python")
        return True
