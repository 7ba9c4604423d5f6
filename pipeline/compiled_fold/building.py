"""Compiles the kernel: ``python -m pipeline.compiled_fold.building``.

For this machine by its C compiler; if the package ziglang is installed, for Linux on x86-64 and arm64, too.
Without a compiler it builds nothing, and NumPy folds.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pipeline.compiled_fold.loading import SOURCE, library_name, this_machine

HERE = Path(__file__).parent
FLAGS = ("-O3", "-std=c99", "-ffreestanding", "-shared", "-fPIC")
ZIG = {"linux-x86_64": "x86_64-linux-gnu.2.17", "linux-aarch64": "aarch64-linux-gnu.2.17"}
"""The targets of ziglang; the oldest C library that it knows runs on each cluster."""


def compilers() -> dict[str, Sequence[str]]:
    """Return the command that compiles for each machine for which there is one."""
    found: dict[str, Sequence[str]] = {}
    if find_spec("ziglang"):
        zig = (sys.executable, "-m", "ziglang", "cc", "-target")
        found = {machine: (*zig, target) for machine, target in ZIG.items()}
    if compiler := shutil.which("cc"):
        found[this_machine()] = (compiler,)
    return found


def libraries(folder: Path) -> list[Path]:
    """Return the libraries in *folder* that were built of its source."""
    return sorted(folder.glob(library_name("*", (folder / SOURCE).read_bytes())))


def build(folder: Path) -> list[Path]:
    """Compile the source in *folder* for all machines that can be; delete libraries of other sources.

    Raises CalledProcessError or OSError.
    """
    source = folder / SOURCE
    for machine, command in compilers().items():
        target = folder / library_name(machine, source.read_bytes())
        partial = target.with_suffix(".partial")
        subprocess.run([*command, *FLAGS, "-o", str(partial), str(source)], check=True)
        partial.replace(target)
    for old in set(folder.glob("kernel-*.so")) - set(libraries(folder)):
        old.unlink()
    return libraries(folder)


def main() -> None:
    """Build, and print what there is; a compiler that fails ends nothing but this."""
    try:
        built = build(HERE)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"bulk_ack folds by NumPy: {error}")
        return
    for library in built:
        print(f"bulk_ack folds by {library.name}")
    if not built:
        print("bulk_ack folds by NumPy: there is no C compiler, cc")


if __name__ == "__main__":
    main()
