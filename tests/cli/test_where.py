"""Where the API is: the order of the four ways, AWS profiles, and the bearer token."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from botocore.session import Session
from botocore.stub import Stubber

from fanin.aws import clients
from fanin.cli.arguments import where
from fanin.cli.arguments.where import Site, Where, use_profile
from fanin.cli.terminal.exits import ExitCode, UsageError
from fanin.local import LocalRunError, run_directories
from fanin.local.run_directories import State

URL = "https://abc.execute-api.eu-west-1.amazonaws.com"
RUN = State(8787, "http://127.0.0.1:8787", "http://127.0.0.1:4566", {"ApiUrl": "x"}, 1, 2, True)
WAYS = ("--url", "--stage", "FANIN_URL", "fanin local up")


@pytest.fixture(autouse=True)
def runs(monkeypatch):
    """The local runs that there are; no variable is set."""
    monkeypatch.delenv("FANIN_URL", raising=False)
    monkeypatch.delenv("FANIN_TOKEN", raising=False)
    found = []
    monkeypatch.setattr(run_directories, "running", lambda: found)
    return found


@pytest.fixture
def stack(monkeypatch):
    """The answers for a stage ``dev``, which has a stack, for none, and for a stack of another kind."""
    client = Session().create_client("cloudformation", "eu-west-1")
    stubber, dev = Stubber(client), {"OutputKey": "ApiUrl", "OutputValue": f"{URL}/"}
    common = {"CreationTime": datetime(2026, 1, 1), "StackStatus": "CREATE_COMPLETE"}
    for name, outputs in (("dev", [dev]), ("nope", None), ("bare", [{**dev, "OutputKey": "Other"}])):
        asked = {"StackName": f"Fanin-{name}"}
        if outputs is None:
            message = "Stack with id Fanin-nope does not exist"
            stubber.add_client_error("describe_stacks", "ValidationError", message, expected_params=asked)
        else:
            stubber.add_response(
                "describe_stacks", {"Stacks": [{**asked, **common, "Outputs": outputs}]}, asked
            )
    monkeypatch.setattr(clients, "stacks", lambda: client)
    with stubber:
        yield


def test_the_url_goes_before_the_variable_and_that_before_the_local_run(runs, monkeypatch):
    runs.append(RUN)
    assert Where().site() == Site(RUN.url, where.LOCAL_RUN)

    monkeypatch.setenv("FANIN_URL", "http://localhost:1")
    assert Where().site() == Site("http://localhost:1", "FANIN_URL")
    assert Where(url=URL).site() == Site(URL, "--url")


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("localhost:8787", "; did you mean http://localhost:8787?"),
        ("127.0.0.1:8787/", "; did you mean http://127.0.0.1:8787/?"),
        (
            "abc.execute-api.eu-west-1.amazonaws.com",
            "; did you mean https://abc.execute-api.eu-west-1.amazonaws.com?",
        ),
        ("[::1", "; did you mean https://[::1?"),
        ("ftp://host", ""),
        ("https://", ""),
        ("https://host/?stage=dev", ""),
    ],
)
def test_a_url_of_no_api_is_a_usage_error_that_says_where_it_came_from(fanin, monkeypatch, url, meant):
    text = f"is {url!r}, not https://host or https://host/stage{meant}\n"
    for verb in ("where", "list"):
        completed = fanin(verb, "--url", url)
        assert (completed.code, completed.out, completed.err) == (ExitCode.USAGE, "", f"--url {text}")

    monkeypatch.setenv("FANIN_URL", url)
    assert fanin("where").err == f"FANIN_URL {text}"


@pytest.mark.usefixtures("stack")
def test_a_stage_is_the_output_of_its_stack_and_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("FANIN_URL", "http://localhost:1")

    assert Where(stage="dev").site() == Site(f"{URL}/", "--stage dev")
    with pytest.raises(UsageError, match="no stack Fanin-nope in eu-west-1; check --stage, --pro"):
        Where(stage="nope").site()
    with pytest.raises(UsageError, match="the stack Fanin-bare in eu-west-1 has no output ApiUrl"):
        Where(stage="bare").site()


def test_without_any_or_with_two_local_runs_one_sentence_lists_the_four_ways(runs):
    for urls in ((), (RUN.url, "http://127.0.0.1:8788")):
        runs[:] = [replace(RUN, url=url) for url in urls]
        with pytest.raises(UsageError) as raised:
            Where().site()

        assert all(way in str(raised.value) for way in (*WAYS, *urls))


def test_a_profile_goes_before_keys_of_the_environment():
    env = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c", "PATH": "/"}
    use_profile("work", "eu-north-1", env)
    regions = {"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-north-1"}

    assert env == {"PATH": "/", "AWS_PROFILE": "work", **regions}


def test_the_token_is_sent_as_bearer_and_over_no_open_line(fanin, served, monkeypatch):
    monkeypatch.setenv("FANIN_TOKEN", "the-token")
    fanin("list", "--url", served.url).ok()
    refused = fanin("list", "--url", "http://example.com")

    assert served.asked[0][2]["authorization"] == "Bearer the-token"
    assert refused.code == ExitCode.USAGE
    assert "over https only" in refused.err
    assert "the-token" not in refused.err


def test_the_verb_prints_the_url_and_how_it_was_found(fanin, served):
    assert fanin("where").ok().lines == [f"{served.url}\tFANIN_URL"]
    assert fanin("where", "--json").ok().documents == [{"url": served.url, "found": "FANIN_URL"}]
    assert served.asked == []


def test_a_run_of_another_program_is_not_meant_and_one_that_is_starting_is_said_to_be(runs):
    runs.append(replace(RUN, command=False))
    with pytest.raises(UsageError, match="found no API"):
        Where().site()

    runs.append(replace(RUN, outputs={}))
    with pytest.raises(LocalRunError, match="is still starting"):
        Where().site()
