"""The blocks of the pages: each that looks like code is run by a test, or says why it is not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.pages import ROOT, PageRun, assert_shown, blocks_of, commands_of

# Pages that tests/http/test_pages.py runs from top to bottom.
RUN_WHOLE = [
    *(ROOT / "docs" / "tutorial.md", ROOT / "examples" / "night" / "README.md"),
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
]
# Pages with a test of their own, which says what it runs.
OWN = {
    "README.md": "tests/http/test_readme.py",
    "docs/callbacks.md": "tests/callbacks/test_page.py",
    "docs/chunks.md": "tests/client/test_chunks_page.py",
    "docs/client.md": "tests/http/test_client_page.py",
    "docs/conformance.md": "tests/conformance/test_page.py",
    "docs/constructs.md": "tests/infra/test_constructs_page.py",
    "docs/consumers.md": "tests/http/test_consumers_page.py",
    "docs/durable_functions.md": "tests/http/test_durable_functions.py",
    "docs/features.md": "tests/testing/test_features_page.py",
    "docs/queue.md": "tests/queue/test_docs.py",
    "docs/repair.md": "tests/http/test_repair_page.py",
    "docs/results.md": "tests/client/test_results_page.py",
    "docs/step_functions.md": "tests/http/test_step_functions.py",
    "docs/testing.md": "tests/testing/test_page.py",
    "docs/traces.md": "tests/client/test_traces_page.py",
    "docs/without_python.md": "tests/http/test_without_python.py",
    "docs/work.md": "tests/http/test_work.py",
}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def pages() -> list[str]:
    return [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize("page", pages())
def test_code_that_looks_as_if_it_ran_is_run(page):
    is_whole = ROOT / page in RUN_WHOLE
    unrun = [str(block) for block in blocks_of(ROOT / page) if block.is_run]

    assert is_whole or page in OWN or unrun == []


@pytest.mark.parametrize(("page", "test"), OWN.items())
def test_a_page_of_its_own_is_read_by_its_test(page, test):
    assert Path(page).name in (ROOT / test).read_text()


@pytest.mark.parametrize("page", pages())
def test_each_function_of_an_example_is_annotated(page):
    blocks = [block for block in blocks_of(ROOT / page) if block.language == "python"]
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block.code))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    assert [each.name for each in functions if each.returns is None or unannotated(each.args)] == []


def unannotated(given: ast.arguments) -> list[str]:
    arguments = (*given.posonlyargs, *given.args, *given.kwonlyargs)
    return [each.arg for each in arguments if each.annotation is None and each.arg != "self"]


PAGE = """
<!-- first -->
```python
n = 2
print(n)  # 2
```

```python title="app.py"
SIZE = 3
```

```console
$ export NAME=fanin
$ echo "$NAME of $(python -c 'import app; print(app.SIZE)')"
fanin of 3
$ printf 'a\\nb 17 c\\nd\\n'
...
b ... c
d
```

<!-- another terminal -->
```console
$ sh -c 'touch up; echo up; sleep 1; echo later; sleep infinity'
up
```

```console
$ ls up
up
```

<!-- in that terminal -->
```text
later
```

<!-- not run: it never ends -->
```console
$ sleep infinity
```

```sh
test -f app.py
```

```text
no code
```
"""


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.pages.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    return page


def test_a_page_runs_in_order(page, tmp_path):
    with PageRun(tmp_path) as run:
        run.page(page)

    assert run.names["n"] == 2
    assert [block.is_run for block in blocks_of(page)] == [True] * 6 + [False, True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# 2", "# 3"),
        ("fanin of 3", "fanin of 4"),
        ("b ... c", "b ... d"),
        ("test -f app.py", "test -f b.py"),
        ("\nd\n```", "\n```"),
        ("echo up;", "exit;"),
        ("echo later; sleep infinity", "exit"),
        ("n = 2", "raise AssertionError"),
    ],
)
def test_a_page_that_is_not_true_fails(page, tmp_path, old, new):
    assert old in page.read_text()
    page.write_text(page.read_text().replace(old, new))

    with PageRun(tmp_path) as run, pytest.raises(AssertionError):
        run.page(page)


def test_a_command_goes_on_after_a_backslash():
    assert commands_of("$ a \\\n  b\nc\n$ d\n") == [("a \\\n  b", ["c"]), ("d", [])]


def test_dots_stand_for_any_lines():
    assert_shown(["a", "...", "d"], ["a", "b", "c", "d"], "")
    with pytest.raises(AssertionError):
        assert_shown(["a", "d"], ["a", "b", "d"], "")
