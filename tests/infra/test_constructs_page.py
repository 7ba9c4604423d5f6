"""docs/constructs.md: its app is synthesised from an installed package, and its tables have what is there."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.paths import ROOT

PAGE = (ROOT / "docs" / "constructs.md").read_text()
APP, TEST = re.findall(r"```python[^\n]*\n(.*?)```", PAGE, re.DOTALL)
NOT_INSTALLED = shutil.ignore_patterns("__pycache__")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The package as the wheel has it, without anything else of the clone."""
    site = tmp_path_factory.mktemp("site")
    for name in ("fanin", "fanin_cdk"):
        shutil.copytree(ROOT / "shared" / name, site / name, ignore=NOT_INSTALLED)
    shutil.copytree(ROOT / "functions", site / "fanin_cdk" / "functions", ignore=NOT_INSTALLED)
    shutil.copyfile(ROOT / "requirements.txt", site / "fanin_cdk" / "requirements.txt")
    return site


def run(installed: Path, folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "app.py").write_text(code)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
    env |= {
        "PYTHONPATH": str(installed),
        "CDK_OUTDIR": str(folder / "cdk.out"),
        "CDK_VALIDATION": "false",
        "CDK_CONTEXT_JSON": '{"aws:cdk:bundling-stacks": []}',
        # No package may be installed: what would be has no place to come from.
        "UV_OFFLINE": "1",
    }
    command = [sys.executable, "-P", "app.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.proof
def test_the_app_and_the_test_of_the_page_run_outside_a_clone(installed, tmp_path):
    completed = run(installed, tmp_path, APP + TEST)

    assert completed.returncode == 0, completed.stderr
    assert (tmp_path / "cdk.out" / "Catalog.template.json").is_file()


def test_every_public_method_and_property_is_on_the_page():
    from fanin_cdk import FaninTracker

    own = {name for name in vars(FaninTracker) if not name.startswith("_")}

    assert {name for name in own if f"`{name}" not in PAGE} == set()


def test_the_arguments_of_the_page_are_those_of_the_construct():
    from fanin_cdk import FaninTracker

    rows = set(re.findall(r"^- `(\w+)` \((?:`\"\w+\"`|None)\): ", PAGE, re.MULTILINE))
    given = inspect.signature(FaninTracker.__init__).parameters
    assert rows == given.keys() - {"self", "scope", "id_", "settings"}
