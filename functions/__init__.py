"""The Lambda handlers, one in each file: parse, call one use case, answer."""

from functions.wiring.starting import collect_after_start

collect_after_start()
