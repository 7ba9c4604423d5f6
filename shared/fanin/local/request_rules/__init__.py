"""Rules of AWS for requests that emulators do not check: sizes, counts, reserved words, keys, placeholders.

:func:`check` raises :class:`Refused` where AWS refuses a request. The local run and the tests check every
request with it. Each limit names the page of AWS's documentation that has it.
"""

from fanin.local.request_rules.checking import check
from fanin.local.request_rules.refusal import Refused
from fanin.local.request_rules.table_keys import TableKeys, Tables

__all__ = ["Refused", "TableKeys", "Tables", "check"]
