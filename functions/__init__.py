"""The Lambda handlers, one a file: parse, call one use case, answer."""
