"""The group-batcher's values and rules: pure, without a clock, a store or randomness."""
