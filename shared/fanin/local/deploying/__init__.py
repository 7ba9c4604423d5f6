"""The stack: synthesised to an assembly, written as a template, deployed on the emulator."""
