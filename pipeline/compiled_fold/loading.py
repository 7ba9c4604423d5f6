"""Loads the compiled kernel of this machine, from beside this file or from the zip that has it."""

from __future__ import annotations

import ctypes
import hashlib
import platform
import sys
from functools import cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable

SOURCE = "kernel.c"
_STATE, _COLUMN, _NUMBER, _FLAG = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
_FUNCTIONS = {
    "fanin_add_groups": (None, _STATE, _NUMBER, _NUMBER),
    "fanin_fold": (_NUMBER, _STATE, _COLUMN, _NUMBER, _COLUMN, _COLUMN, _NUMBER, _NUMBER),
    "fanin_fold_numbers": (_NUMBER, _STATE, _COLUMN, _COLUMN, _NUMBER, *(_COLUMN,) * 3, _NUMBER, _NUMBER),
    "fanin_header": (_NUMBER, _COLUMN, _NUMBER, _NUMBER, _COLUMN),
    "fanin_bounds": (_FLAG, _COLUMN, _NUMBER, _NUMBER, _COLUMN),
    "fanin_hybrid": (_FLAG, _COLUMN, _NUMBER, _NUMBER, _NUMBER, _COLUMN),
    "fanin_copy": (None, _COLUMN, _NUMBER, _COLUMN, _COLUMN),
}
"""What each function of the kernel returns and takes."""


def this_machine() -> str:
    """Return the system and the processor that a library is for."""
    return f"{sys.platform}-{platform.machine()}"


def library_name(machine: str, source: bytes) -> str:
    """Return the file name of the library for *machine*; that of another *source* has another name."""
    return f"kernel-{machine}-{hashlib.sha256(source).hexdigest()[:12]}.so"


@cache
def kernel() -> ctypes.CDLL | None:
    """Return the kernel; None if there is none for this machine."""
    return load(files(__package__))


def load(folder: Traversable) -> ctypes.CDLL | None:
    """Return the kernel in *folder*; None if it is not there, or this machine cannot run it."""
    source = folder / SOURCE
    if sys.byteorder != "little" or not source.is_file():
        return None
    library = folder / library_name(this_machine(), source.read_bytes())
    if not library.is_file():
        return None
    try:
        with as_file(library) as path:
            loaded = ctypes.CDLL(str(path))
    except OSError:
        return None
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, result
    return loaded
