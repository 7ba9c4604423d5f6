"""What the AWS adapters share: settings, clients, and one table from AWS codes to our errors."""
