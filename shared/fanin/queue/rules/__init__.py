"""The work queue's values and rules: pure, without a clock, a store or randomness.

Read ``model`` and ``lifecycle`` first: the states of a job, and each transition between them. The store
makes the same decisions by conditions (``queue/dynamodb/requests.py``).
"""
