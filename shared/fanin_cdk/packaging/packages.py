"""The layer of third-party packages and the project's own code, as the CDK deploys them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, ILocalBundling, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin_cdk.packaging import code as sources
from fanin_cdk.packaging.layer import Build, compile_own, install
from fanin_cdk.packaging.paths import FUNCTIONS
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.settings_file import settings_file, write_settings_file


def layer_code(build: Build) -> lambda_.Code:
    """Return the layer as an asset, which is built when the stack is synthesised."""
    return lambda_.Code.from_asset(
        str(FUNCTIONS),  # never read: the bundling fills the asset
        asset_hash=build.asset_hash(),
        asset_hash_type=AssetHashType.CUSTOM,
        bundling=BundlingOptions(
            image=DockerImage.from_registry("none"),
            local=LocalBundling(lambda output: install(build, output / "python")),
        ),
    )


def own_code(scope: Construct, build: Build, config: Config) -> lambda_.Code:
    """Return the project's own code and the settings file as an asset, compiled if the stack is bundled."""
    asset_hash = build.code_hash(settings_file(config).to_json())
    with TemporaryDirectory() as folder:
        sources.assemble(Path(folder))
        write_settings_file(config, Path(folder))
        if Stack.of(scope).bundling_required:
            compile_own(build, Path(folder))
        code = lambda_.Code.from_asset(folder, asset_hash=asset_hash, asset_hash_type=AssetHashType.CUSTOM)
        # Binding copies the folder into the output.
        code.bind(scope)
    return code


def client_code(scope: Construct) -> lambda_.Code:
    """Return the client as an asset of a layer: Python sources alone, for each version and architecture."""
    with TemporaryDirectory() as folder:
        sources.assemble_client(Path(folder) / "python")
        hashed = sources.client_digest().hex()
        code = lambda_.Code.from_asset(folder, asset_hash=hashed, asset_hash_type=AssetHashType.CUSTOM)
        code.bind(scope)
    return code


@jsii.implements(ILocalBundling)
class LocalBundling:
    """Fills the CDK's output folder by *make*, without a container."""

    def __init__(self, make: Callable[[Path], None]) -> None:
        self.make = make

    def try_bundle(self, output_dir: str, *_options: Any, **_named: Any) -> bool:
        """Fill *output_dir* and return True; raise if it fails, as there is no container."""
        self.make(Path(output_dir))
        return True
