"""``fanin local work``: the messages of a queue, fed to the user's function."""
