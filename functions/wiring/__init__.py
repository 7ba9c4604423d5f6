"""What the handlers use, built once per process and on first use.

The promise: a function imports and builds only what its requests need, so its start takes no more.

Read in this order: ``deployed.py``: the settings file. ``metered.py``: the DynamoDB client. ``tracking.py``,
``grouping.py``, ``queueing.py``: the three capabilities. ``quotas.py``, ``consuming.py``,
``s3_publications.py``: what few functions need. ``calling.py``, ``webhooks.py``: what one needs.
``starting.py``: what is done before the first request.
"""
