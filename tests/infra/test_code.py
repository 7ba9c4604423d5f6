"""What is in the zip of a Lambda, and that it is enough."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from unittest.mock import patch

import pytest

from fanin_cdk.packaging import code
from fanin_cdk.packaging.code import assemble, digest
from fanin_cdk.packaging.layer import Build
from infra.config import StackConfig
from tests.infra.synthesis import handler_of, scratch_folder, synthesised

IMPORT_ALL = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
for name in json.loads(sys.argv[2]):
    assert callable(importlib.import_module(f"functions.{name}").handler), name
    print(name)
import fanin
assert fanin.__file__.startswith(sys.argv[1]), fanin.__file__
"""


def keys_of(assembly):
    return {
        each["Properties"]["Code"]["S3Key"] for each in assembly.of_type("AWS::Lambda::Function").values()
    }


@pytest.fixture(scope="module")
def asset():
    """The folder that becomes the zip of every function, of a stack whose assets are bundled."""
    from aws_cdk import App, Stack

    from fanin_cdk.packaging.packages import own_code

    folder = scratch_folder()
    config = StackConfig(target="local")
    with patch.object(code, "assemble", assemble):
        own_code(Stack(App(outdir=str(folder)), "Code"), Build.for_config(config), config)
    (asset,) = folder.glob("asset.*")
    return asset


def test_the_zip_holds_modules_their_bytecode_and_the_settings_file_and_nothing_else(
    asset,
):
    files = [path.relative_to(asset) for path in asset.rglob("*") if path.is_file()]

    others = [path.as_posix() for path in files if path.suffix not in {".py", ".pyc"}]
    assert others == ["functions/settings.json"]
    assert len([path for path in files if path.suffix == ".pyc"]) == len(files) // 2
    assert not [path for path in files if path.parts[:2] in {("fanin", "cli"), ("fanin", "local")}]


def test_what_does_not_belong_stays_out(tmp_path):
    functions, package, staged = (tmp_path / name for name in ("functions", "package", "staged"))
    wanted = ["functions/open.py", "package/a.py", "package/deep/local/b.py"]
    others = [
        "functions/.env",
        "functions/x.pyc",
        "package/cli/c.py",
        "package/local/d.py",
        "package/.x/e.txt",
    ]
    for name in (*wanted, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    assemble(staged, functions, package)

    staged_files = {str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file()}
    assert staged_files == {"functions/open.py", "fanin/a.py", "fanin/deep/local/b.py"}


def test_the_same_code_has_the_same_hash(default):
    assert keys_of(synthesised(monitoring="full")) == keys_of(default)


def test_other_settings_in_the_file_have_another_hash_in_the_same_code(configured, default):
    assert keys_of(configured) != keys_of(default)


def test_other_code_has_another_hash(tmp_path):
    (tmp_path / "functions").mkdir()
    (tmp_path / "fanin").mkdir()
    module = tmp_path / "functions" / "one.py"
    seen = set()
    for text in ("a = 1", "a = 2"):
        module.write_text(text)
        seen.add(digest(tmp_path / "functions", tmp_path / "fanin"))

    module.rename(tmp_path / "functions" / "two.py")
    seen.add(digest(tmp_path / "functions", tmp_path / "fanin"))

    assert len(seen) == 3


def test_every_handler_imports_from_the_zip_with_the_environment_of_the_template(full, asset):
    functions = full.of_type("AWS::Lambda::Function").values()
    variables = {name: "x" for each in functions for name in each["Properties"]["Environment"]["Variables"]}
    env = {**os.environ, **variables, "FANIN_PAGE_BITS": "1024", "AWS_DEFAULT_REGION": "eu-west-1"}
    env.pop("PYTHONPATH", None)
    handlers = sorted(handler_of(each) for each in functions)

    completed = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_ALL, str(asset), json.dumps(handlers)],
        env=env,
        cwd=asset,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (completed.stdout.split(), completed.stderr) == (handlers, "")
