"""The command ``fanin``."""
