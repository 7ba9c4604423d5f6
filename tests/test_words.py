"""The vocabulary: product code, tests and documents use the field's terms, not words coined here.

Each pattern is one row of a table: what is not written, and what is. A name that is not ours to choose is
listed in ``KEPT``, with its reason.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    *("shared", "functions", "infra", "pipeline", "lab", "examples", "docs", "website", "mkdocs.yml"),
    *("README.md", "CONTRIBUTING.md", "Makefile", "cdk.json", "tests"),
)
SUFFIXES = {".css", ".html", ".js", ".json", ".md", ".py", ".svg", ".toml", ".yml", ""}

# what is not written (as whole words, in any case unless the pattern says otherwise): what is
REFUSED = {
    r"told|tells?|untold|tellers?|tellings?|retold": "reported, notified, configured; outbox entry",
    r"hears?|heard|unheard": "is notified, receives",
    r"speaks?|speakers?|spoken": "caller; refers to",
    r"words?": "ack entry, outcome; page masks; name, text",
    r"wish(es|ed)?": "request, query, spec",
    r"turned|reborn|born": "transition; LeadResult, LeadOutcome; new_job",
    # AWS writes "dead-letter queue"; what is in one is a dead-letter message.
    r"(?<!dead[- ])letters?|dead[- ]letters?(?![- ](queues?|messages?|handlers?|config|tenants)\b)": (
        "dead-letter message"
    ),
    r"courtesy": "informational",
    r"fates?": "claim status",
    r"janitors?": "maintenance",
    r"turnstiles?": "fair lock",
    r"aside": "rejected rows",
    r"weather": "service errors, outages",
    r"silences?|silent(ly)?": "lost, timed out; without output",
    r"homes?": "run directory",
    r"second look": "recheck",
    r"plainly": "with a message",
    r"initiators?": "task outcomes, acks",
    r"whoever|whomever|somebody|someone|nobody|everybody": "name who does it",
    r"life|lives": "lifecycle",
    r"farewells?|companions?": "no images",
}
REFUSED_IN_CODE = {
    r"\bTurn\b": "Transition, LeadResult",
    r"\b(put|set|laid|left)_aside\b": "rejected rows",
    r"\bPlace\b": "QueueContext, position",
}
ANY = re.compile(rf"\b({'|'.join(REFUSED)})\b", re.IGNORECASE)
ANY_CODE = re.compile("|".join(REFUSED_IN_CODE))
# file: fragments of lines in which a word above may stand, each for a reason
KEPT: dict[str, tuple[str, ...]] = {
    "": (
        "letters, digits",  # of the alphabet
        "reserved word",  # DynamoDB's term
        "keyword",
        "break-word",  # CSS
        "time to live",
        "test_words",  # this file
        "DeadLetters",  # a construct id: another one would replace the queue of a deployed stack
        '"Letters"',  # a construct id too
        "deadLetterTargetArn",  # SQS's attribute
        "list_dead_letter_source_queues",  # SQS's request
        "ListDeadLetterSourceQueues",
        "JAVA_HOME",  # an environment variable
        "XDG_CACHE_HOME",  # an environment variable
        '"HOME"',  # an environment variable
        "$HOME",
        "Home and End",  # keys
        "Home: 0,",  # the key
        'press("Home")',  # the same
        "letter-spacing",  # a property of CSS
        "ascii_letters",  # a constant of Python
    ),
    "shared/fanin_cdk/tracker.py": ("dead_letters",),  # an argument of FaninTracker.consume
    "docs/constructs.md": ("dead_letters",),  # the same
    "examples/catalog/app.py": ("dead_letters",),  # the same
    "tests/infra/test_construct.py": ("dead_letters",),  # the same
    "tests/infra/test_construct_edges.py": ("dead_letters",),  # the same
    "tests/infra/test_tables_and_queues.py": ("LettersKept", "LettersUnmatched"),  # construct ids
    "tests/cli/test_processes.py": ("COMP_WORDS", "HOME="),  # variables of Bash
    "tests/cli/test_watching.py": ('"dead-letter"',),  # of a message
}


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in SUFFIXES and path.is_file() and path != Path(__file__)]


def parts(line: str) -> str:
    """*line* with the words inside identifiers apart: ``put_aside`` and ``ListWish`` hold two each."""
    return re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", line).replace("_", " ")


def old_words(path: Path) -> list[str]:
    kept = KEPT[""] + KEPT.get(str(path.relative_to(ROOT)), ())
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = parts(line)
        is_found = ANY.search(text) or ANY_CODE.search(line)
        if not is_found or any(fragment in line for fragment in kept):
            continue
        for pattern, instead in REFUSED.items():
            if match := re.search(rf"\b({pattern})\b", text, re.IGNORECASE):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]!r}: write {instead}")
        for pattern, instead in REFUSED_IN_CODE.items():
            if match := re.search(pattern, line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]!r}: write {instead}")
    return found


def test_the_terms_are_the_fields_own():
    assert [line for path in files() for line in old_words(path)] == []


def test_an_old_word_is_found_wherever_it_stands(tmp_path):
    for line in ("is told of", "class ListWish:", "put_aside = 1", "DeadLetters", "a life of its own"):
        assert any(re.search(rf"\b({pattern})\b", parts(line), re.IGNORECASE) for pattern in REFUSED), line


if __name__ == "__main__":
    print(*(line for path in files() for line in old_words(path)), sep="\n")
