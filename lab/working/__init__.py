"""Workers of an SQS queue outside of Lambda, side by side: messages a second on one core."""
