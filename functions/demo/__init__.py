"""The demo's work: check a record of a package catalog and put it into an index."""
