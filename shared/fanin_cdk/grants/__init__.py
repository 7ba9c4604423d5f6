"""What each function may do: the deployment's handlers, and functions of the user."""
