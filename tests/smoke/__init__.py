"""The smoke test of a deployed stage: `make smoke STAGE=name`."""
