"""Settings from the environment and the settings file, typed, a class for each capability."""
