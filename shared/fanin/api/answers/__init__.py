"""The bodies of the answers, made from the values of the capabilities."""
