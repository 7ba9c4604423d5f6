"""The daemon that forks Spark's Python workers, made for many short tasks.

Spark starts it as ``python -m tests.pipeline.preloaded pyspark.worker``. Before each task a worker has Python
read the directories of all archives on its path anew, and Spark puts one of 1,328 files there: 0.3 s of CPU.
Here Spark is read from its folder. After each task a worker collects its garbage: what most tasks use is
loaded once, before the first fork, and left out of that.
"""

from __future__ import annotations

import gc
import sys


def forget_archives() -> None:
    """Take archives off the path: the packages in them are installed as well."""
    sys.path[:] = [path for path in sys.path if not path.endswith(".zip")]
    for path in [path for path in sys.path_importer_cache if ".zip" in path]:
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
