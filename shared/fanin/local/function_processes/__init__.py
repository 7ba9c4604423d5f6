"""The emulator's function processes: forked from one that has loaded their libraries."""
