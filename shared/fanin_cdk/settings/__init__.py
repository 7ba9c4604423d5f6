"""The settings of a deployment: their rules, and where they come from."""
