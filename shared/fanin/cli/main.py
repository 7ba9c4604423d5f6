"""The command ``fanin``; also ``python -m fanin.cli.main``. It loads the verbs only if they are needed."""

from __future__ import annotations

import gc
import os
import sys

from fanin.cli.version import print_version

COMPLETING = "_FANIN_COMPLETE"
"""The variable of a shell that asks for completion."""
INTERRUPTED = 130
"""As in ``exits``, which is not loaded yet."""


def main() -> None:
    """Run the command line of the process; Ctrl-C ends it without a traceback, also while it is loaded."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; run it again\n")
        sys.exit(INTERRUPTED)


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        print_version()
        return
    gc.disable()  # what is loaded stays: to search it for garbage takes a tenth of the start
    try:
        from fanin.cli.app import app_of  # noqa: PLC0415  # see above

        app = app_of([] if COMPLETING in os.environ else sys.argv[1:])
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.startswith("fanin"):
            raise
        sys.exit(f"fanin needs {missing.name}: pip install 'fanin[cli]'")
    gc.freeze()
    gc.enable()
    _open_streams()
    app(prog_name="fanin")


def _open_streams() -> None:
    """Set how the streams read and write what is no text; one that is closed is empty, and keeps nothing."""
    for name, mode, errors in (
        ("stdout", "w", "backslashreplace"),  # a key has any character
        ("stderr", "w", "backslashreplace"),
        ("stdin", "r", "surrogateescape"),  # as arguments are
    ):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # to the end
        else:
            stream.reconfigure(errors=errors)


if __name__ == "__main__":
    main()
