"""The tables of a run in a DynamoDB engine of the user's: ``fanin local up --dynamodb DIR|URL``.

The emulator keeps what describes a table, its streams and its functions; the engine has the items. Reading
order: ``given`` (what the user named), ``engine`` (its connection), ``amazon`` (DynamoDB Local as a process),
``tables`` (made and deleted in both), ``forwarding`` (requests about items), ``streams`` and ``changes`` (the
engine's records, or those of forwarded writes), ``expiry``, ``leftovers`` (what a run deletes at its end),
and ``attaching``, which joins them in the process of the emulator.
"""
