"""The daemon that forks Spark's Python workers, made for many short tasks.

Spark starts it as ``python -m tests.pipeline.preloaded pyspark.worker``. Before each task a worker has Python
read the directories of all archives on its path anew, and Spark puts a zip file of 1,328 files and a jar of
5,358 there. Here Spark is read from its folder. After each task a worker collects its garbage: what most
tasks use is loaded once, before the first fork, and left out of that.
"""

from __future__ import annotations

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

    import boto3  # noqa: F401
    import pandas as pd  # noqa: F401
    import pyarrow as pa  # noqa: F401
    from pyspark.daemon import manager
    from pyspark.sql import worker  # noqa: F401

    from fanin.tracker.dynamodb import store  # noqa: F401

    gc.freeze()
    manager()
