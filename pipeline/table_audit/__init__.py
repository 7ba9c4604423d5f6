"""Checks that batches, pages and parents agree.

The promise: a finding is a disagreement that no write in progress explains; the audit writes nothing.

An export or a scan -> findings by rule -> doubtful ones read again, consistently, from the live tables.

Read in this order: ``rules.py``: one rule for each kind of disagreement. ``run.py``: the rules over frames.
``recheck.py``: which findings stay.
"""
