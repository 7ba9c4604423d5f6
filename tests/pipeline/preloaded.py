"""The daemon of `pipeline.worker_daemon`, made for many short tasks: what most use is loaded once, before
the first fork. Spark starts it as ``python -m tests.pipeline.preloaded pyspark.worker``.
"""

from __future__ import annotations

import gc

from pipeline.worker_daemon import forget_archives

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
