"""The demo's consumer: checks records of a package catalog and writes them into an index table."""
