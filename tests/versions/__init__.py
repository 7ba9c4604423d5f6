"""The suite on the lowest and the newest version of each range that ``pyproject.toml`` gives."""
