"""The event of an ended batch as it is on the bus, and one early attempt to put it there.

The promise: the event of a completion is put at once where it can be, and the attempt costs an ack at most
its short timeout and never fails it. The stream makes the event sure (``api/bus_events/ending_events.py``).

An event: decided -> put at once, or by the stream -> confirmed; the sweep sends again what is not confirmed.

Read in this order: ``ending_event.py``: its detail. ``announcer.py``: the early put, and which endings have
none. ``workflow_results.py``: what a workflow that waits for the batch gets. ``metrics.py``: what is counted.
"""
