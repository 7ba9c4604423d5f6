"""The site of a few pages and the whole, each built once for all tests of this folder, and a browser."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

from tests.api.conftest import CACHED
from tests.chromium import launched
from website import seed

ROOT = Path(__file__).resolve().parents[2]


# An element of each kind is on one of these, but for the Python classes: their page has all modules parsed.
FEW = (
    *(
        "index.md",
        "features.md",
        "tutorial.md",
        "tracker.md",
        "tracker_reference.md",
        "consumers.md",
        "work.md",
        "dashboard.md",
    ),
    *("howto/other_stacks.md", "http_api.md", "http/batches.md", "proof.md", seed.NAME),
)


def few(nav: Any) -> Any:
    """Return the entries of a navigation, or of a part of it, that lead to the few pages."""
    if isinstance(nav, list):
        return [kept for entry in nav if (kept := few(entry))]
    if isinstance(nav, dict):
        return {title: kept for title, entry in nav.items() if (kept := few(entry))}
    return nav if nav in FEW else None


@pytest.fixture(scope="session")
def site_of_few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a few pages, built as the whole; strict but for links to the other pages."""
    folder = tmp_path_factory.mktemp("few")
    excluded = "\n".join(("*.md", *(f"!/{name}" for name in FEW)))
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), exclude_docs=excluded)
    config.nav = few(config.nav)
    build(config)
    for cached in CACHED:  # of the replay's functions
        cached.cache_clear()
    return folder


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


@pytest.fixture(scope="session", params=["few", pytest.param("whole", marks=pytest.mark.proof)])
def site(request: pytest.FixtureRequest) -> Path:
    """The folder of a built site."""
    return request.getfixturevalue("site_of_few" if request.param == "few" else "whole_site")


@pytest.fixture(scope="package")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launched(playwright)
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
