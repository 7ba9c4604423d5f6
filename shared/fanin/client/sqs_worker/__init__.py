"""A worker: receives the messages of an SQS queue outside of Lambda, works on them, acks and deletes them.

The promise: a message is deleted after its ack has an answer, and only while the worker holds it; a message
under work stays hidden from other workers; work that raises returns its message; a redelivered message is
worked on alone, so that one that ends its process takes no other along; at a stop what is in flight is
finished, or returned, within a bound.

::

    receive --> in_flight.py --> perform --> settle --> delete
                    ^   waits, is under work, has been worked on
                    `-- visibility.py extends the visibility timeout of all

- ``messages.py``: a message in flight, and the ports: the queue, and what performs the work.
- ``in_flight.py``: the messages in flight: which one starts next, how many are received.
- ``visibility.py``: which messages are hidden for longer, and which ones the worker has lost.
- ``worker.py``: the steps of a worker, which any thread may call; no step waits for another one.
- ``performing.py``: work by a consumer of ``fanin.client.consuming``, the core that Lambda handlers share.
- ``handlers.py``: the consumer of what the user gave: a function, or a handler of ``@fanin.acks``.
- ``threads.py``, ``tasks.py``: run the steps in threads, and the user's coroutines in tasks of asyncio.
- ``running.py``: a worker from its start to its stop, with its signals and its lines in the log.
"""
