"""The contract suites on several engines: `make witness`."""
