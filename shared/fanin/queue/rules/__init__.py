"""The work queue's values and rules: pure, without a clock, a store or randomness."""
