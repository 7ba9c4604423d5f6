"""Faults on the wire between botocore and the emulator of a local run, and a referee of its promises."""
