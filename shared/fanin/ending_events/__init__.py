"""The event of an ended batch as it is on the bus, and one early attempt to put it there.

The stream makes the event sure (``api/bus_events/ending_events.py``); ``announcer`` makes it early.
"""
