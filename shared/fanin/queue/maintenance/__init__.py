"""What keeps a queue healthy: freed claims, due jobs, sleep, and the rounds of the sweep."""
