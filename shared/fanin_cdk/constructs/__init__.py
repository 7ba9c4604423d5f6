"""Each construct owns its resources; FaninTracker composes them."""
