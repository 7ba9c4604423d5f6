"""The site, built once for all tests of this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site. The build is strict: a broken link or anchor fails it."""
    folder = tmp_path_factory.mktemp("site")
    env = os.environ | {"PYTHONPATH": "shared:.", "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    # With --quiet MkDocs counts no warnings, so that a broken link would pass.
    assert built.returncode == 0, built.stderr
    return folder
