"""What the handlers use, built once per process and on first use."""
