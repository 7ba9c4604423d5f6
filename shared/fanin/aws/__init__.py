"""Settings, clients and requests of the AWS adapters, and the table of AWS error codes."""
