"""A fingerprint of the code that a module runs: ``python -m tests.proof.fingerprint MODULE``.

The command prints the files to standard output, and the fingerprint to standard error.

It covers the modules of fanin and of the tests that were imported, without comments and docstrings. A change
of another room, of a test file or of a page leaves it as it is.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tests.proof.results import ROOT

DIGITS = 10
WARMING_SEEDS = 10
"""Seeds that a simulator runs first, for modules that are imported where they are used."""
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def fingerprint_of(module: str) -> str:
    """Return the fingerprint of what *module* imports."""
    return digest(files_of(module), ROOT)


def files_of(module: str) -> list[Path]:
    """Return the files that *module* imports, found in a process of its own."""
    command = [sys.executable, "-m", "tests.proof.fingerprint", module]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines()]


def digest(paths: list[Path], root: Path) -> str:
    """Return a digest of the names and of the code of files."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.relative_to(root)}\n{code_of(path)}\n".encode())
    return found.hexdigest()[:DIGITS]


def code_of(path: Path) -> str:
    """Return the syntax tree of a file without comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def imported() -> list[Path]:
    """Return the files of the modules of fanin and of the tests that this process has imported."""
    rooms = ("fanin", "functions", "tests", "lab")
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] in rooms]
    files = {Path(module.__file__) for module in modules if getattr(module, "__file__", None)}
    return sorted(path for path in files if "tests/proof" not in path.as_posix())


def main(module: str) -> int:
    """Import a module, run a few seeds of its simulator, and list what it imported."""
    room = getattr(import_module(module), "ROOM", None)
    if room is not None:
        for seed in range(WARMING_SEEDS):
            room.simulate(seed)
    files = [path.resolve() for path in imported()]
    print(*(path.relative_to(ROOT) for path in files), sep="\n")
    print(digest(files, ROOT), file=sys.stderr)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("give the module of a simulator: python -m tests.proof.fingerprint tests.simulation.run")
    sys.exit(main(sys.argv[1]))
