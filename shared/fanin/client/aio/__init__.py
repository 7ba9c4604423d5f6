"""The client for asyncio: the same calls as of ``Fanin``, on the connections of the event loop.

There is one core: ``Fanin`` and its transport, which check, build and read requests, and decide on retries.
A call of a coroutine runs in a greenlet (``beside.py``): where the core would wait for the network or sleep,
the greenlet is left until the event loop has the answer. So a call takes no thread, and thousands are in
flight.

::

    AsyncFanin, AsyncBatch --> Caller --> a greenlet: Fanin --> HttpTransport --> LoopExchange
    (clients.py, batches.py)   (calls.py, beside.py)                             (exchange.py, connections.py)

A client without HTTP, one over a fake, and one without the extra ``fanin[async]`` run their calls in threads.
"""
