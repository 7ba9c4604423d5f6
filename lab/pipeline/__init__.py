"""The jobs of the pipeline: throughput, a large archive, a round trip of ten million items."""
