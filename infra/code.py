"""The project's own code as one zip: ``functions/`` and the package ``fanin`` side by side."""

from __future__ import annotations

import shutil
from pathlib import Path

from infra.paths import FUNCTIONS, PACKAGE

# The command, the local run and what they import never run in a Lambda.
LEFT_OUT = frozenset({"cli", "local"})


def assemble(folder: Path, functions: Path = FUNCTIONS, package: Path = PACKAGE) -> None:
    """Copy what a Lambda imports into *folder*: its top level becomes exactly ``functions`` and ``fanin``.

    Python sources only, so nothing of an editor, a cache or an environment file can slip in.
    """
    _copy_sources(functions, folder / "functions", left_out=frozenset())
    _copy_sources(package, folder / "fanin", left_out=LEFT_OUT)


def _copy_sources(source: Path, target: Path, left_out: frozenset[str]) -> None:
    target.mkdir(parents=True)
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        if inside.parts[0] in left_out:
            continue
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target / inside)
