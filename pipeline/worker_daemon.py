"""The daemon that forks the Python workers of a local session: PySpark's own, without archives on its path.

Spark puts its zips and a jar of thousands of files on the path, and before each task a worker has Python read
their directories anew, although the installed packages have all that is in them.
"""

import gc
import sys
from types import SimpleNamespace

ARCHIVES = (".zip", ".jar")


def forget_archives() -> None:
    """Take archives off the path: the packages in them are installed as well."""
    sys.path[:] = [path for path in sys.path if not path.endswith(ARCHIVES)]
    for path in [path for path in sys.path_importer_cache if any(suffix in path for suffix in ARCHIVES)]:
        del sys.path_importer_cache[path]


def collect() -> None:
    """Collect garbage as a worker does after each task; what it keeps is left out from then on."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    forget_archives()

    from pyspark import daemon

    # What is imported takes a worker 40 ms to look through, as long as some tasks take.
    vars(daemon)["gc"] = SimpleNamespace(collect=collect)
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]
