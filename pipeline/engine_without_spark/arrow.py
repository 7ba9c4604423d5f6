"""Starts Arrow without pandas, which takes longer to import than a small job to run."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    """Refuses the import of pandas."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Raise ModuleNotFoundError for pandas."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not imported", name=fullname)
        return None


def without_pandas() -> None:
    """Have Arrow not import pandas, which it does by itself to recognise its types, where it is installed.

    A caller that converts to pandas still can: Arrow then tries again.
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(finder)
