"""The emulator of AWS, its API's port, and what it does as AWS does and it would not by itself."""
