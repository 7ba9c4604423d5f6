"""The process that runs the emulator of AWS: its start and stop, its ports, its connection, its event log."""
