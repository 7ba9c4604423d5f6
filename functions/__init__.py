"""The Lambda handlers, one in each file: parse, call one use case, answer."""

import gc

# A cold start makes many objects that stay and little garbage: the default threshold, 700 to 2,000 objects by
# version of Python, spends a fifteenth of its CPU on looking for some.
gc.set_threshold(50_000)
