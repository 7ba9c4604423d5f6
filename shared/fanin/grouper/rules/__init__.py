"""How tasks of one target become a bundle, and what its call means for each of them.

The values and decisions are pure, without a clock, a store or randomness. The ports are here, too: the
queue of tasks (``messages``), the batch API (``downstream``) and who learns of an outcome (``notifying``).
"""
