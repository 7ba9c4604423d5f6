"""The names of the metrics of completions that are put on the bus at once. Imports nothing of the project."""

EVENTS_AT_ONCE = "EventsAtOnce"
EVENTS_LEFT = "EventsLeft"
EVENTS_SAVED = "EventsSaved"
