"""Patches of the emulator: what AWS does and the emulator would not do by itself."""
