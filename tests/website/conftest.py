"""The site, built once for all tests of this folder, and a browser."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dashboard.conftest import ARGUMENTS, CHROMIUM, needs_chromium

__all__ = ["needs_chromium"]

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


@pytest.fixture(scope="package")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(browser, url, scheme="light"):
    """A page of the site; afterwards, all that it requested was on this server."""
    requested = []
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.on("request", lambda request: requested.append(request.url))
    page.goto(url)
    yield page
    context.close()
    server = "/".join(url.split("/")[:3])
    assert requested
    assert [each for each in requested if not each.startswith((f"{server}/", "data:"))] == []
