"""A command that serves ends at a signal, and its end is complete even if the signal comes again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fanin.cli.terminal.stopping import stopped_by_signals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ROOT = Path(__file__).resolve().parents[2]
SERVES = """
import time
from fanin.cli.terminal.stopping import stopped_by_signals
with stopped_by_signals():
    try:
        print("serving", flush=True)
        time.sleep(600)
    finally:
        print("ending", flush=True)
        time.sleep(0.5)
        print("ended", flush=True)
print("after")
"""


@pytest.mark.parametrize("second", SIGNALS)
def test_a_second_signal_does_not_interrupt_the_end(second):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "shared")}
    served = subprocess.Popen(
        [sys.executable, "-c", SERVES], env=environment, text=True, stdout=subprocess.PIPE
    )
    assert served.stdout.readline() == "serving\n"
    served.send_signal(signal.SIGINT)
    assert served.stdout.readline() == "ending\n"

    served.send_signal(second)

    assert served.communicate(timeout=60)[0] == "ended\nafter\n"
    assert served.returncode == 0


def test_after_the_block_signals_have_their_handlers_again():
    before = [signal.getsignal(number) for number in SIGNALS]

    with stopped_by_signals():
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(60)

    assert [signal.getsignal(number) for number in SIGNALS] == before
