"""Packages of npm: each installed version is compared, and none passes that was not looked up."""

from __future__ import annotations

import json

import pytest

from tests.audit import __main__ as command
from tests.audit import npm

PACKAGES = {
    "node_modules/a": {"version": "1.2.0"},
    "node_modules/b/node_modules/a": {"version": "2.0.0"},
    "node_modules/@scope/b": {"version": "3.0.0"},
}


def advisory(name, *events, ecosystem="npm", **more):
    ranges = [{"type": "SEMVER", "events": list(events)}]
    affected = [{"package": {"name": name, "ecosystem": ecosystem}, "ranges": ranges}]
    return {"id": f"GHSA-{name}", "affected": affected, **more}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / npm.INSTALLED).write_text(json.dumps({"packages": PACKAGES}))
    return tmp_path


@pytest.fixture
def advisories(tmp_path):
    def written(*documents):
        (tmp_path / "advisories" / "2026").mkdir(parents=True)
        for number, each in enumerate(documents):
            (tmp_path / "advisories" / "2026" / f"{number}.json").write_text(json.dumps(each))
        return tmp_path / "advisories"

    return written


def test_each_installed_version_is_compared(folder, advisories):
    old = advisory("a", {"introduced": "0"}, {"fixed": "1.3.0"})
    scoped = advisory("@scope/b", {"introduced": "2.9.0"})
    python = advisory("a", {"introduced": "0"}, ecosystem="PyPI")
    withdrawn = advisory("a", {"introduced": "0"}, withdrawn="2026-01-01")
    found = npm.audited(folder, advisories(old, scoped, python, withdrawn))

    assert found.packages == 3
    assert found.vulnerable == [("@scope/b", "3.0.0", "GHSA-@scope/b"), ("a", "1.2.0", "GHSA-a")]
    assert found.unknown == []


@pytest.mark.parametrize(("packages", "said"), [(PACKAGES, "--npm-advisories"), ({}, "run npm install")])
def test_what_was_not_looked_up_does_not_pass(tmp_path, monkeypatch, packages, said):
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / npm.INSTALLED).write_text(json.dumps({"packages": packages}))
    monkeypatch.setattr(command, "ROOT", tmp_path)
    (_, looked, shown), sound = command._of_npm(None)

    assert not sound
    assert looked.startswith("0 ")
    assert said in shown
