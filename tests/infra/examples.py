"""The stacks of examples/, loaded from their folders as their users would run them."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from infra.paths import ROOT

EXAMPLES = {
    "catalog": "Catalog",
    "spark_nightly": "Nightly",
    "sqs_workers": "Catalog",
    "step_functions": "Orders",
}
"""The stack of each example by the name of its folder."""


@functools.cache
def module(path: str) -> Any:
    """The Python file *path* of an example."""
    where = ROOT / "examples" / path
    spec = importlib.util.spec_from_file_location(where.stem, where)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def stack_of(name: str, app: Any, id_: str = "") -> Any:
    """The stack of the example *name* in *app*, as *id_* if that is given.

    Its Spark jobs are packed as `make pipeline-zip` does.
    """
    from infra.pipeline_code import pack

    make = functools.partial(getattr(module(f"{name}/app.py"), EXAMPLES[name]), app, id_ or EXAMPLES[name])
    if name != "spark_nightly":
        return make()
    with TemporaryDirectory() as folder:
        pack(Path(folder) / "pipeline.zip")
        return make(Path(folder) / "pipeline.zip")
