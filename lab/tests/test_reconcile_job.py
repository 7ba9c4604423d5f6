"""The manifest and exports are what the job takes, and its check sees what the job must save."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from lab.reconcile import inputs
from pipeline.fan_out import manifest
from pipeline.reconcile.run import ReconcileRequest, reconcile
from pipeline.table_frames import frames

ITEMS = 5000


def test_the_job_saves_what_is_outstanding_in_the_benchmark(spark, tmp_path):
    outstanding = np.array([0, 999, 1000, 2600, 2601, 4999])
    source, saved = tmp_path / "manifest", str(tmp_path / "saved")
    inputs.write_manifest(spark, source, ITEMS, part_rows=1000)
    exported = inputs.write_exports(tmp_path / "exports", ITEMS, outstanding)
    loaded = manifest.load(spark, str(source))
    snapshot = frames.from_exports(spark, [exported.batches, exported.pages], exported.batch_id)

    reconcile(
        spark, snapshot, ReconcileRequest(exported.batch_id, str(source), saved), lambda event, facts: None
    )

    assert [part.rows for part in manifest.count(loaded)] == [1000] * 5
    inputs.check(saved, exported)
    shutil.rmtree(saved)
    spark.read.parquet(str(source)).limit(1).selectExpr(
        "0L AS position", "'x' AS item_id", "record"
    ).write.parquet(saved)
    with pytest.raises(SystemExit, match="does not hold exactly the 6 outstanding items"):
        inputs.check(saved, exported)
