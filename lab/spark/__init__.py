"""The Spark jobs beside DuckDB and Polars, on the same files."""
