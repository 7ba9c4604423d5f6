"""Other trackers before the cases of ``fanin_conformance``: ``python -m lab.conforming``."""
