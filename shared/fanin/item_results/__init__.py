"""What came out: the results of a batch's items, without a row an item.

The promise: each item that succeeded and returned something has exactly one result, of one of its runs that
returned; the same at every read once the batch has ended; none of a failed item; none early, none lost.

::

    ack --> parts/<random>      before the bits are written, one object a request and batch
    end --> manifest            the parts at the end: written once, the event names it
    read -> runs/, steps/, files/ --> index       gathered, in the order of the items

What it rests on: a part is written before the ack of its items, so all results of the items that are done
are in parts when the last bit ends the batch; the manifest and the index are written once, by S3's
``If-None-Match``; and failures never change after the end. A run that came twice, a crash between part and
ack, and a zombie that writes after the end add parts that change nothing.

Read in this order: ``lines.py``, ``files.py``: the formats. ``service.py``: keep, freeze, read, delete.
``gathering.py``: the promise. ``objects.py``: the port; ``s3.py`` and ``memory.py`` keep it.
"""
