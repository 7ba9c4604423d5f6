"""The report as one HTML page: its sections, charts and style. Pure."""
