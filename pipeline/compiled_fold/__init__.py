"""Folds item ids by compiled code, if this machine has it: see ``kernel.c``. NumPy folds what it declines.

``building.py`` compiles it, ``loading.py`` loads it, ``groups.py`` folds by it, ``pages.py`` reads Parquet.
"""
