"""The cost of a batch over the local run: units that the engine reports, and the command's estimate."""

from __future__ import annotations

from fanin.cost.meter import UsageMeter
from fanin.local import LocalRun
from fanin.settings.tracking import Tables
from fanin.tracker import Ack, OpenBatch, Tracker
from fanin.tracker.dynamodb import DynamoStore
from lab.cost.units import UnitMeter


def test_the_units_that_the_engine_reports_of_acks_are_those_of_the_rules(run: LocalRun):
    client, uncounted = run.client("dynamodb"), run.client("dynamodb")
    tables = Tables(run.outputs["BatchesTable"], run.outputs["PagesTable"])
    tracker = Tracker(DynamoStore(client, tables), page_bits=16)
    batch = tracker.open("t", OpenBatch()).batch_id
    group = tracker.add("t", batch, 64).groups[0].id
    meter, rows = UsageMeter().attach(client), UnitMeter(uncounted).attach(client)

    for first, last in [(0, 0), (0, 7), (3, 20), (21, 63)]:
        tracker.ack("t", [Ack(batch, group, first, last, "me")])

    assert meter.reported["write_unit"] > 0
    units = meter.usage.units
    assert (units["write_unit"], units.get("read_unit", 0)) == (rows.writes, rows.reads)
