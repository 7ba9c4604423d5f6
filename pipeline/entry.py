"""The script that AWS Glue or EMR Serverless starts, with the project's zip on its path.

    entry.py --fanin-job NAME [--fanin-paths "PATH ..."] [the job's own options]

Glue passes the script every parameter of a job, including its own, each with a value. Glue's own parameters
are dropped, an option whose value is ``true`` or empty becomes a flag (``--dry-run true``), and positional
arguments are passed as ``--fanin-paths``, quoted as in a shell. The job's own parser gets all others, and
refuses unknown ones.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from pipeline import jobs

JOB = "--fanin-job"
PATHS = "--fanin-paths"

# The names in «Using job parameters in AWS Glue jobs» of its developer guide, and in the parser of its own
# library (awsglue.utils.getResolvedOptions, awsglue.job.Job).
_GLUES_NAMES = """
JOB_ID JOB_NAME JOB_RUN_ID SECURITY_CONFIGURATION TempDir RedshiftTempDir
WORKFLOW_NAME WORKFLOW_RUN_ID
additional-python-modules auto-scale-within-microbatch class conf continuation-option
continuous-log-conversionPattern continuous-log-logGroup continuous-log-logStreamPrefix
custom-logGroup-prefix custom-logStream-prefix customer-driver-env-vars customer-executor-env-vars
datalake-formats debug disable-proxy disable-proxy-v2 enable-auto-scaling
enable-continuous-cloudwatch-log enable-continuous-log-filter enable-data-lineage enable-glue-datacatalog
enable-job-insights enable-lakeformation-fine-grained-access enable-metrics enable-observability-metrics
enable-rename-algorithm-v2 enable-s3-parquet-optimized-committer enable-spark-ui encryption-type endpoint
executor-cores extra-files extra-jars extra-py-files job-bookmark-from job-bookmark-option job-bookmark-to
job-language mode python-modules-installer-option scriptLocation spark-event-logs-path
use-postgres-driver user-jars-first
"""
GLUE = frozenset("--" + name for name in _GLUES_NAMES.split())

Option = list[str]
"""An option, followed by its values."""


class WrongArguments(ValueError):
    """The arguments do not name exactly one known job; the message lists the jobs."""


def read(argv: Iterable[str]) -> tuple[str, list[str]]:
    """Return the job's name, and the arguments for its own parser."""
    names: list[str] = []
    paths: list[str] = []
    own: list[str] = []
    for option in _options(argv):
        name, _, joined = option[0].partition("=")
        values = [joined] if joined else option[1:]
        if name == JOB:
            names += values
        elif name == PATHS:
            paths += [path for value in values for path in shlex.split(value)]
        elif name not in GLUE:
            own += option[:1] if option[1:] in (["true"], [""]) else option
    if len(names) != 1:
        raise WrongArguments(f"{JOB} takes the name of one job: {', '.join(known())}")
    return names[0], paths + own


def _options(argv: Iterable[str]) -> Iterator[Option]:
    """Yield *argv* in groups: an option and its values."""
    group: Option = []
    for text in argv:
        if text.startswith("--") and group:
            yield group
            group = []
        group.append(text)
    if group:
        yield group


def known() -> list[str]:
    """Return the names of all jobs."""
    return sorted(module.name for module in iter_modules(jobs.__path__))


def job(name: str) -> ModuleType:
    """Return the module of the job *name*. Raises WrongArguments."""
    if name not in known():
        raise WrongArguments(f"there is no job {name!r}; {JOB} takes one of {', '.join(known())}")
    return import_module(f"{jobs.__name__}.{name}")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the job that *argv* names, to its end."""
    try:
        name, arguments = read(sys.argv[1:] if argv is None else argv)
        chosen = job(name)
    except WrongArguments as error:
        raise SystemExit(f"entry: {error}") from error
    chosen.main(arguments)


if __name__ == "__main__":
    main()
