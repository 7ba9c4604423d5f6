"""The client library: batches, items and acks, over HTTP or on the tables, and Lambda handlers that ack.

The promise: what a call was asked for was done, or it raises. Each request may be repeated, because each has
a key. A message is deleted only after the ack of its item has an answer.

::

    Fanin (fanin.py) --> Batch (batch.py) --> transports/transport.py, the port
      |                                         |-- http.py     the API
      |-- consuming/  handlers of SQS queues    `-- direct.py   the tables, in this process
      `-- queues/     work queues

Read in this order:

- ``fanin.py``, ``batch.py``: the calls. ``model.py``, ``items.py``: what they return.
- ``transports/transport.py``: what a transport does, and how acks are divided into requests.
- ``consuming/consumer.py``: a delivery, record by record. ``consuming/settling.py``: which messages return.
- ``under_work.py``: which call of a function runs here. ``handing.py``, ``children.py``: an item whose work
  goes on elsewhere, as a child batch, a job or a task.
- ``waiting.py``: the end of a batch, awaited. ``aio.py``: the same calls for asyncio.
- ``checks/``: what is refused before anything is sent. ``wire/``: the JSON of the API.
"""
