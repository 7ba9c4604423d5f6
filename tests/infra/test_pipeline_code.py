"""What is in the pipeline's zip, and that it is enough: nothing else of the project is within reach."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from fanin_cdk.packaging.paths import PACKAGE
from infra import pipeline_code
from infra.paths import PIPELINE
from pipeline.compiled_fold.building import HERE, libraries
from pipeline.compiled_fold.loading import SOURCE
from pipeline.shared_by_jobs.datasets import CATALOG_SLICE

# What AWS Glue 6.0 and EMR bring along; beside it a job finds Python's own modules alone.
RUNTIME = """
    pyspark py4j numpy pandas pyarrow boto3 botocore s3transfer jmespath dateutil pytz six urllib3 tzdata
"""
IMPORT_ALL = """
import importlib.machinery, pkgutil, sys
archive, *present = sys.argv[1:]

class Absent:
    def find_spec(self, name, path=None, target=None):
        found = importlib.machinery.PathFinder.find_spec(name, path)
        if found and "site-packages" in str(found.origin) and name.partition(".")[0] not in present:
            raise ModuleNotFoundError(f"{name} is not on the runtime", name=name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, archive)
for top in ("fanin", "pipeline"):
    package = importlib.import_module(top)
    for module in pkgutil.walk_packages(package.__path__, f"{top}."):
        try:
            found = importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in ("greenlet", "h11"):  # of the extra for coroutines
                raise
            print(module.name)
            continue
        assert found.__file__.startswith(archive), found.__file__
        print(module.name)
import fanin
for name in fanin.__all__:
    getattr(fanin, name)
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("zip") / "fanin-pipeline.zip"
    pipeline_code.pack(path)
    return path


def names_in(path: Path) -> list[str]:
    with ZipFile(path) as opened:
        return opened.namelist()


def test_the_zip_has_the_two_packages_in_order_and_sources_and_kernels_alone(archive):
    names = names_in(archive)

    assert names == sorted(names)
    assert {name.split("/")[0] for name in names} == {"fanin", "pipeline"}
    others = [name for name in names if not name.endswith(".py")]
    assert others == [f"pipeline/compiled_fold/{path.name}" for path in [*libraries(HERE), HERE / SOURCE]]


def test_every_job_is_in_the_zip_and_nothing_that_runs_on_a_laptop(archive):
    names = set(names_in(archive))
    jobs = {f"pipeline/jobs/{path.name}" for path in (PIPELINE / "jobs").glob("*.py")}

    assert {"pipeline/entry.py", "pipeline/jobs/fan_out.py"} <= jobs | {"pipeline/entry.py"} <= names
    assert not [name for name in names if name.startswith(("fanin/local/", "fanin/cli/"))]
    assert {path.name for path in PACKAGE.iterdir()} > pipeline_code.PACKAGE_LEFT_OUT


def test_the_same_sources_are_the_same_bytes_whenever_they_were_written(tmp_path):
    folders = [tmp_path / name for name in ("pipeline", "fanin")]
    for folder in folders:
        (folder / "deep").mkdir(parents=True)
        for name in ("b.py", "a.py", "deep/c.py"):
            (folder / name).write_text(f"# {name}\n")
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"

    pipeline_code.pack(first, *folders)
    for path in tmp_path.rglob("*.py"):
        os.utime(path, (2_000_000_000, 2_000_000_000))
        path.chmod(0o600)
    pipeline_code.pack(second, *folders)

    assert first.read_bytes() == second.read_bytes()


def test_what_does_not_belong_stays_out(tmp_path):
    pipeline, package = tmp_path / "p", tmp_path / "f"
    wanted = ["p/jobs/a.py", "f/tracker/b.py"]
    others = [
        "p/.env",
        "p/__pycache__/a.cpython-311.pyc",
        "f/local/d.py",
        "f/api/e.py",
        "f/py.typed",
    ]
    for name in (*wanted, *others):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    pipeline_code.pack(tmp_path / "x.zip", pipeline, package)

    assert names_in(tmp_path / "x.zip") == ["fanin/tracker/b.py", "pipeline/jobs/a.py"]


@pytest.mark.proof
def test_every_module_imports_from_the_zip_alone_with_what_the_runtime_brings(archive):
    # -I: neither this folder nor PYTHONPATH; the editable install comes after the zip.
    completed = subprocess.run(
        [sys.executable, "-I", "-c", IMPORT_ALL, str(archive), *RUNTIME.split()],
        cwd=archive.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    sources = (name for name in names_in(archive) if name.endswith(".py"))
    modules = {name.removesuffix(".py").replace("/", ".") for name in sources}

    assert completed.returncode == 0, completed.stderr
    assert set(completed.stdout.split()) == {name for name in modules if not name.endswith("__init__")} | {
        name.removesuffix(".__init__")
        for name in modules
        if name.count(".") > 1 and name.endswith("__init__")
    }


@pytest.mark.proof
def test_spark_submit_runs_a_job_from_the_zip_alone(archive, tmp_path):
    script = Path(shutil.copy(PIPELINE / "entry.py", tmp_path))
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    extra = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    conf = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=1"]
    local = ["--master", "local[1]", *conf, "--py-files", str(archive)]
    options = ["--fanin-job", "fan_out", "--dry-run", "true", "--dataset", str(CATALOG_SLICE)]

    completed = subprocess.run(
        [str(submit), *local, str(script), *options],
        env={**kept, **extra},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.splitlines()[1].startswith("992 messages: ")
