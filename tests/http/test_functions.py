from __future__ import annotations

import os
import signal

from tests.local.processes import state
from tests.polling import eventually
from tests.soak.chaos import family, host_of, is_function


def kill_functions(run) -> None:
    """Kill every function process of the run, and the one that they are forked from."""
    processes = [pid for pid in family(host_of(run))[1:] if is_function(pid)]
    assert processes
    for pid in processes:
        os.kill(pid, signal.SIGKILL)
    # Its command line goes first, its pipes later: a request in between meets a broken pipe.
    assert eventually(lambda: all(state(pid) in {"", "Z"} for pid in processes))


def test_killed_function_processes_are_replaced_and_no_ack_is_lost(run, api, alone):
    batch, items = api.opened(2)
    api.close(batch)
    api.ack(items[0])

    kill_functions(run)

    assert api.ack(items[1]) == 1
    assert api.is_complete(batch)
