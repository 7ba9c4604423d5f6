"""Each construct owns its resources; the stack composes them."""
