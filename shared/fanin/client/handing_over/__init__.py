"""An item is handed over: a child batch, a job, a task or the next stage does its work, and ends it.

``under_work`` knows which items this process is working on, so that an ack from inside is heeded or refused.
"""
