"""The example of docs/features.md with Spark."""

from __future__ import annotations

import importlib
import os
import shlex
from contextlib import nullcontext

from fanin import Fanin
from fanin.client.transports.direct import DirectTransport
from fanin.tracker import Tracker
from pipeline.jobs import fan_out
from pipeline.shared_by_jobs import session
from tests.pages import assert_shown, commands_of
from tests.testing.test_features_page import WITH_SPARK, of

FILES = ("books.jsonl", "manifest", "messages", "rejects")


def test_the_jobs_print_what_the_page_shows(spark, tables, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(session, "spark_session", lambda *_, **__: nullcontext(spark))
    client = Fanin(DirectTransport(Tracker(tables.store), "t"))
    monkeypatch.setattr(fan_out, "Fanin", lambda *_, **__: client)
    named = {"TENANT": "t", "BATCHES_TABLE": tables.batches, "PAGES_TABLE": tables.pages, "URL": "http://x"}
    for name, value in named.items():
        monkeypatch.setenv(f"FANIN_{name}", value)
    rows, commands = of(*WITH_SPARK)
    (tmp_path / rows.title).write_text(rows.code)

    for command, shown in commands_of(commands.code):
        _, _, module, *options = shlex.split(os.path.expandvars(command.replace("\\\n", "")))
        options = [str(tmp_path / option) if option in FILES else option for option in options]
        where = ["--region", tables.region]
        where += ["--tables-endpoint-url", tables.endpoint] if module.endswith("bulk_ack") else []
        importlib.import_module(module).main([*options, *where])
        assert_shown(shown, capsys.readouterr().out.splitlines(), command)
