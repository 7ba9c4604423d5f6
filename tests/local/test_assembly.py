from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fanin.local import LocalRunError
from fanin.local.deploying import assembly
from fanin.local.deploying.assembly import Assembly, Asset, fingerprint, kept_assembly
from fanin.local.deployment_source import Origin, clone, installed, origin

CONTEXT = {"stage": "local", "archive": False}
PACKAGED = ("fanin_cdk/app.py", "fanin_cdk/functions/one.py", "fanin_cdk/requirements.txt")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The least of a source tree."""
    for name in (
        "infra/app.py",
        "functions/one.py",
        "shared/fanin/a.py",
        "shared/fanin/local/b.py",
        "cdk.json",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}")
    return tmp_path


@pytest.mark.parametrize("name", ["infra/app.py", "functions/one.py", "shared/fanin/a.py", "cdk.json"])
def test_a_change_of_what_is_deployed_asks_for_a_new_synthesis(tree, name):
    before = fingerprint(clone(tree), CONTEXT)

    (tree / name).write_text("# changed")

    assert fingerprint(clone(tree), CONTEXT) != before


def test_a_change_of_the_local_run_itself_does_not(tree):
    before = fingerprint(clone(tree), CONTEXT)

    (tree / "shared/fanin/local/b.py").write_text("# changed")

    assert fingerprint(clone(tree), CONTEXT) == before


def test_an_assembly_is_kept_for_its_own_sources_only(tree):
    kept = tree / "build" / "local" / fingerprint(clone(tree), CONTEXT)
    kept.mkdir(parents=True)

    assert kept_assembly(clone(tree), CONTEXT) == kept
    (tree / "infra/app.py").write_text("# changed")
    assert kept_assembly(clone(tree), CONTEXT) is None


def test_a_new_assembly_is_kept_and_the_oldest_ones_go(tree):
    (tree / "infra/app.py").write_text("import os\nos.makedirs(os.environ['CDK_OUTDIR'])")
    folder = tree / "build" / "local"
    for age in range(assembly.KEPT):
        (folder / str(age)).mkdir(parents=True)
        os.utime(folder / str(age), (1000 - age, 1000 - age))

    assembled = assembly.synthesise(clone(tree), CONTEXT)

    assert {path.name for path in folder.iterdir()} == {assembled.name, *map(str, range(assembly.KEPT - 1))}
    assert kept_assembly(clone(tree), CONTEXT) == assembled


def test_an_assembly_is_not_removed_while_a_run_uses_its_files(tree):
    (tree / "infra/app.py").write_text("import os\nos.makedirs(os.environ['CDK_OUTDIR'])")
    folders = [tree / "build" / "local" / str(age) for age in range(assembly.KEPT + 1)]
    for age, folder in enumerate(folders):
        folder.mkdir(parents=True)
        os.utime(folder, (1000 - age, 1000 - age))
    held = assembly.hold(folders[-1])

    assembly.synthesise(clone(tree), CONTEXT)
    assert [folder.is_dir() for folder in folders[-2:]] == [False, True]

    os.close(held)
    (tree / "cdk.json").write_text("# changed")
    assembly.synthesise(clone(tree), CONTEXT)
    assert not folders[-1].is_dir()


def test_two_runs_that_synthesise_and_remove_at_once_do_not_disturb_each_other(tree):
    folder = tree / "build" / "local"
    folder.mkdir(parents=True)
    (folder / "removed meanwhile").symlink_to(folder / "nothing")
    (tree / "infra/app.py").write_text("import os\nos.makedirs(os.environ['CDK_OUTDIR'])")
    kept = folder / fingerprint(clone(tree), CONTEXT)
    (kept / "manifest").mkdir(parents=True)

    assert assembly.synthesise(clone(tree), CONTEXT) == kept
    assert (kept / "manifest").is_dir()


def test_who_wants_an_assembly_that_is_being_made_waits_for_it(tree):
    app = "import os\nos.makedirs(os.environ['CDK_OUTDIR'])\nopen('../../../ran', 'a').write('1')"
    (tree / "infra/app.py").write_text(app)

    with ThreadPoolExecutor(3) as threads:
        assembled = list(threads.map(lambda _: assembly.synthesise(clone(tree), CONTEXT), range(3)))

    assert ((tree / "ran").read_text(), len(set(assembled))) == ("1", 1)
    assert list((tree / "build" / "local").iterdir()) == assembled[:1]


def test_a_lock_of_the_dead_is_taken(tree):
    (tree / "infra/app.py").write_text("import os\nos.makedirs(os.environ['CDK_OUTDIR'])")
    lock = tree / "build" / "local" / f"draft-{fingerprint(clone(tree), CONTEXT)}"
    lock.parent.mkdir(parents=True)
    lock.touch()

    assert assembly.synthesise(clone(tree), CONTEXT).is_dir()
    assert not lock.exists()


OTHER, OWN = (f"core.cpython-{version}-x86_64-linux-gnu.so" for version in (312, 313))


@pytest.mark.parametrize(
    ("files", "refused"), [((OTHER,), True), ((OTHER, OWN), False), (("a.py", "b.abi3.so"), False)]
)
@pytest.mark.parametrize("zips", [False, True])
def test_functions_of_another_python_are_refused_at_once_with_the_command_that_gets_it(
    tmp_path, files, refused, zips
):
    for name in files:
        (tmp_path / name).touch()
    path = shutil.make_archive(str(tmp_path / "a"), "zip", tmp_path) if zips else tmp_path
    found = Assembly("s", {}, (Asset(Path(path), "k", not zips),))

    if not refused:
        assembly.require_python(found, tmp_path, (3, 13))
        return
    with pytest.raises(
        LocalRunError, match=r"built for Python 3.12, .* uv tool install --python 3.12 'fanin"
    ):
        assembly.require_python(found, tmp_path, (3, 13))


@pytest.fixture
def environment(tmp_path: Path) -> Origin:
    """The least of an environment with the package."""
    for name in ("fanin/a.py", "fanin_cdk/__init__.py", *PACKAGED):
        path = tmp_path / "site-packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}")
    return installed(tmp_path / "site-packages", {"XDG_CACHE_HOME": str(tmp_path / "cache")})


@pytest.mark.parametrize("name", ["fanin/a.py", *PACKAGED])
def test_another_version_of_the_package_asks_for_a_new_synthesis(environment, name):
    before = fingerprint(environment, CONTEXT)

    (environment.folder / name).write_text("# changed")

    assert fingerprint(environment, CONTEXT) != before


def written(folder):
    """Return what is in *folder*, but for what Python compiled, as it does where it may."""
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_the_app_of_the_package_is_synthesised_into_the_users_cache(environment, tmp_path):
    (environment.folder / "fanin_cdk/app.py").write_text("import os\nos.makedirs(os.environ['CDK_OUTDIR'])")
    before = written(environment.folder)

    assembled = assembly.synthesise(environment, CONTEXT)

    assert assembled.parent == tmp_path / "cache" / "fanin" / "local"
    assert kept_assembly(environment, CONTEXT) == assembled
    assert written(environment.folder) <= before


def test_a_cache_that_cannot_be_written_names_the_variable(environment, tmp_path):
    (tmp_path / "cache").touch()

    with pytest.raises(LocalRunError, match="XDG_CACHE_HOME"):
        assembly.synthesise(environment, CONTEXT)


def test_a_clone_is_its_own_origin_and_an_installed_package_is_another(tree, environment):
    assert origin(tree / "shared" / "fanin", {}) == clone(tree)
    assert (
        origin(environment.folder / "fanin", {"XDG_CACHE_HOME": str(environment.cache.parents[1])})
        == environment
    )


def test_a_failing_app_is_quoted_and_leaves_no_draft(tree):
    (tree / "infra/app.py").write_text("raise SystemExit('the stage has no name')")

    with pytest.raises(LocalRunError, match="the stage has no name"):
        assembly.synthesise(clone(tree), CONTEXT)

    assert not list((tree / "build" / "local").iterdir())
