"""The Lambda handlers, one in each file: parse, call one use case, answer.

The promise: an event that is delivered again has the effect of one, and a handler that was killed at any
request is recovered by its event's next delivery or by a sweep. No state is kept between invocations but
caches.

Read in this order:

- ``close_batch.py``: a route, as all others are. ``api/``: the deployed functions, each of several routes.
- ``publish_endings.py``, ``consume_acks.py``, ``sweep.py``: a stream, a queue, a schedule.
- ``wiring/``: what the handlers use. ``invocation_metrics/``: what they count. ``openapi/``: the document
  that is generated from the routes.
"""

from functions.wiring.starting import collect_after_start

collect_after_start()
