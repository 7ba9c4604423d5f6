"""The verbs that show a whole: the dashboard, the report of the history, the cost of a fan-out."""
