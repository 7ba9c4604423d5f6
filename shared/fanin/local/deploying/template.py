"""The CloudFormation template as files to deploy without the CDK: its assets are in a bucket of the user.

Two parameters name the bucket and the prefix, so an account needs no CDK bootstrap. The manifest in the
folder is that of a cloud assembly, so ``fanin local up --template-dir`` deploys the same files.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fanin.local.deploying.assembly import Assembly, Asset, run_app, zipped
from fanin.local.deployment_source import ORIGIN
from fanin.local.errors import LocalRunError

CDK_BUCKET = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"
"""The bucket that `cdk bootstrap` makes, as templates name it."""
BUCKET, PREFIX = "AssetsBucket", "AssetsPrefix"
DEFAULT_PREFIX = "fanin/"
PARAMETERS: Mapping[str, Any] = {
    BUCKET: {
        "Type": "String",
        "Description": "The S3 bucket with the assets, in the region of the stack.",
        "AllowedPattern": "[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]",
    },
    PREFIX: {
        "Type": "String",
        "Description": "The prefix of the keys of the assets: empty, or with a slash at its end.",
        "Default": DEFAULT_PREFIX,
        "AllowedPattern": "([A-Za-z0-9_.-]+/)*",
    },
}
BOOTSTRAP = {"Parameters": "BootstrapVersion", "Rules": "CheckBootstrapVersion"}
"""What the CDK adds to refuse an account without bootstrap, by section of the template."""
MANIFEST, WRITER = ".assets.json", "fanin template"
SHOWN = re.compile(r"^(?!Bundling |A copy of this report )\S.*", re.MULTILINE)
"""The lines of a synthesis that are warnings."""


def synthesised(context: Mapping[str, object], folder: Path) -> tuple[Path, list[str]]:
    """Synthesise the stack with the settings in *context*, write it into *folder*, and return its template.

    The second value has the warnings. Raises LocalRunError.
    """
    written_before(folder)
    with TemporaryDirectory(prefix="fanin-template-") as draft:
        outdir = Path(draft) / "cdk.out"
        output = run_app(ORIGIN, context, outdir)
        return write(Assembly.read(outdir), folder), SHOWN.findall(output)


def write(assembly: Assembly, folder: Path) -> Path:
    """Write template and assets of *assembly* into *folder*, and return the path of the template.

    The same assembly gives the same bytes. They replace those of an earlier call. Raises LocalRunError.
    """
    for path in written_before(folder):
        path.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    template = folder / f"{assembly.stack}.template.json"
    assets = [each for each in assembly.assets if each.path.name != template.name]
    keys = sorted(each.key for each in assets)
    _write_json(folder / f"{assembly.stack}{MANIFEST}", _manifest([*keys, template.name]))
    for each in assets:
        (folder / each.key).write_bytes(_content(each))
    _write_json(template, parameterised(assembly.template, keys))
    return template


def written_before(folder: Path) -> list[Path]:
    """Return what an earlier call wrote into *folder*, its manifest last.

    Raises LocalRunError for a folder with other files.
    """
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise LocalRunError(f"{folder} is no folder; name one that is new or empty")
    known = {name for manifest in folder.glob(f"*{MANIFEST}") for name in _listed(manifest)}
    found = sorted(folder.iterdir(), key=lambda path: (path.name.endswith(MANIFEST), path.name))
    if others := [path.name for path in found if path.name not in known or not path.is_file()]:
        raise LocalRunError(
            f"{folder} has {others[0]}, which fanin template did not write; name a new or empty folder"
        )
    return found


def parameterised(template: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return *template* with its assets, the objects *keys*, at the place that the parameters name."""
    kept = {
        section: {name: each for name, each in content.items() if name != BOOTSTRAP.get(section)}
        if section in BOOTSTRAP
        else _placed(content, re.compile("|".join(map(re.escape, keys)) or "(?!)"))
        for section, content in template.items()
    }
    kept["Parameters"] = {**PARAMETERS, **kept.get("Parameters", {})}
    return {section: content for section, content in kept.items() if content}


def _placed(value: Any, keys: re.Pattern[str]) -> Any:
    match value:
        case {"Fn::Sub": str(text)}:
            return {"Fn::Sub": _named(text, keys)}
        case str():
            named = _named(value, keys)
            return value if named == value else {"Fn::Sub": named}
        case dict():
            return {name: _placed(each, keys) for name, each in value.items()}
        case list():
            return [_placed(each, keys) for each in value]
    return value


def _named(text: str, keys: re.Pattern[str]) -> str:
    return keys.sub(rf"${{{PREFIX}}}\g<0>", text.replace(CDK_BUCKET, f"${{{BUCKET}}}"))


def _content(asset: Asset) -> bytes:
    return zipped(asset.path, zipfile.ZIP_DEFLATED) if asset.is_folder else asset.path.read_bytes()


def _manifest(names: Collection[str]) -> dict[str, Any]:
    files = {
        name: {
            "source": {"path": name, "packaging": "file"},
            "destinations": {"bucket": {"objectKey": name}},
        }
        for name in names
    }
    return {"writer": WRITER, "files": files}


def _listed(manifest: Path) -> set[str]:
    """Return the names of the files of *manifest* and its own; none if another program wrote it."""
    try:
        content = json.loads(manifest.read_text())
    except (OSError, ValueError):
        return set()
    match content:
        case {"writer": str(writer), "files": dict(files)} if writer == WRITER:
            return {manifest.name, *files}
    return set()


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")
