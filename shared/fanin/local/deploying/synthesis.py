"""The child process that runs the CDK app: ``python -m fanin.local.deploying.synthesis PARENT DRAFT APP``.

The app starts processes of its own (Node, uv), all in one process group. When the parent exits, the group is
killed and DRAFT is removed.
"""

from __future__ import annotations

import functools
import os
import runpy
import shutil
import signal
import sys
from pathlib import Path

from fanin.local.emulator_process import parent_watch


def main(parent: int, draft: Path, app: str) -> None:
    """Run the CDK app, the module *app*, until it ends or the process *parent* exits."""
    parent_watch.follow(parent, functools.partial(_give_up, draft))
    sys.argv = [app]
    runpy.run_module(app, run_name="__main__")


def _give_up(draft: Path) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
