"""What the demo shows: its progress, its report and its picture."""
