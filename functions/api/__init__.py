"""The functions of the API, one in each file: which handler answers which route."""
