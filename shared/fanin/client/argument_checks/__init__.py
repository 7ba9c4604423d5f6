"""What a caller wrote, checked before anything is sent: each error names the argument."""
