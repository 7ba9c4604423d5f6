"""The daemon that forks the Python workers of a local session: PySpark's own, without archives on its path.

Spark puts its zips and a jar of thousands of files on the path, and before each task a worker has Python read
their directories anew, although the installed packages have all that is in them.
"""

import gc
import sys

ARCHIVES = (".zip", ".jar")


def forget_archives() -> None:
    """Take archives off the path: the packages in them are installed as well."""
    sys.path[:] = [path for path in sys.path if not path.endswith(ARCHIVES)]
    for path in [path for path in sys.path_importer_cache if any(suffix in path for suffix in ARCHIVES)]:
        del sys.path_importer_cache[path]


if __name__ == "__main__":
    forget_archives()

    from pyspark.daemon import manager

    # After each task a worker collects its garbage: what is imported by now is left out of that.
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
