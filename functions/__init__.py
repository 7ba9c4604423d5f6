"""The Lambda handlers, one in each file: parse, call one use case, answer."""
