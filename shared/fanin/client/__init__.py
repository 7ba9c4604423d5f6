"""The client library: batches, items and acks, over HTTP or on the tables, and Lambda handlers that ack.

The promise: what a call was asked for was done, or it raises; an ack has a verdict for each item. Each
request may be repeated: those that create something have a key. The message of an item is deleted once its
ack has an answer, its new owner is known, or its batch has ended.

::

    Batch (batch.py) --> Fanin (fanin.py) --> transports/transport.py, the port
                           |                    |-- http.py     the API
                           |                    `-- direct.py   the tables, in this process
                           |-- consuming/  handlers of SQS queues
                           |-- sqs_worker/ the worker of a queue outside of Lambda, over consuming/
                           |-- tasks.py    tasks of the group-batcher
                           |-- result_files.py  results of an ended batch
                           `-- queues/     work queues

Read in this order:

- ``fanin.py``, ``batch.py``: the calls. ``model.py``, ``items.py``: what they return.
- ``transports/transport.py``: what a transport does, and how acks are divided into requests.
- ``consuming/consumer.py``: a delivery, record by record. ``consuming/settling.py``: which messages return.
- ``handing_over/``: ``under_work.py``, which call runs here; ``handing.py``, ``children.py``: an item whose
  work goes on elsewhere, as a child batch, a job or a task; ``stages.py``, the batch of the next stage.
- ``sqs_worker/``: ``worker.py``, its steps; ``running.py``, its threads and signals.
- ``waiting.py``: the end of a batch, awaited. ``result_files.py``: its results. ``aio/``: the same calls for
  asyncio.
- ``checks/``: what is refused before anything is sent. ``wire/``: the JSON of the API.
"""
