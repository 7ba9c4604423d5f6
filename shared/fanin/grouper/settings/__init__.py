"""The policies and batch APIs of targets, parsed from a deployment's settings. Pure."""
