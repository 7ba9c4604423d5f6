"""Generated mutants: every rule, service, store and request, changed in one place at a time.

``make mutation`` changes one comparison, constant, statement or DynamoDB expression of a capability, runs the
tests that reach it, and counts the changes that no test notices.
"""
