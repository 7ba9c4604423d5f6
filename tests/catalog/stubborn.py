"""A process that ends when it is asked to, and its child, which does not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys


def main() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    print(json.dumps({"event": "child", "pid": child.pid}), flush=True)
    child.wait()


if __name__ == "__main__":
    main()
