"""Checks that Spark can start here, or prints how to fix it: `python -m pipeline.shared_by_jobs.check`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping

OLDEST_JAVA = 17
REMOTE = "SPARK_REMOTE"
"""The variable with a Spark Connect server: ``sc://HOST:PORT``, or the master of one in this process."""

INSTALL = {
    # A release has the first package or not; the second is always its default.
    "apt-get": "sudo apt-get install -y openjdk-17-jre-headless || sudo apt-get install -y default-jre",
    "dnf": "sudo dnf install -y java-17-amazon-corretto-headless || sudo dnf install -y java-latest-openjdk",
    "brew": 'brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)"',
}
ELSEWHERE = "install Java 17 from https://adoptium.net and set JAVA_HOME to its folder"

Which = Callable[[str], str | None]


def install_line(which: Which = shutil.which) -> str:
    """Return the command that installs a Java for Spark with the first package manager found here."""
    return next((line for tool, line in INSTALL.items() if which(tool)), ELSEWHERE)


def java_command(env: Mapping[str, str], which: Which = shutil.which) -> str | None:
    """Return the java that Spark would start: that of JAVA_HOME, else the first on PATH."""
    if env.get("JAVA_HOME"):
        return which(os.path.join(env["JAVA_HOME"], "bin", "java"))
    return which("java")


def major_version(banner: str) -> int | None:
    """Return 17 for 'openjdk version "17.0.15"', 8 for 'java version "1.8.0_402"'; None without a version."""
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(found[1]) if found else None


def java_version(command: str) -> int | None:
    """Return the major version of *command*; None if it does not run."""
    answer = subprocess.run([command, "-version"], capture_output=True, text=True, check=False)
    return major_version(answer.stderr) if answer.returncode == 0 else None


def java_problem(env: Mapping[str, str], which: Which = shutil.which) -> str | None:
    """Return why Spark cannot start, with the command that fixes it; None if it can."""
    command = java_command(env, which)
    version = java_version(command) if command else None
    if version is not None and version >= OLDEST_JAVA:
        return None
    needed = f"Spark needs Java {OLDEST_JAVA} or newer"
    if not command and env.get("JAVA_HOME"):
        java_home = env["JAVA_HOME"]
        return f"{needed}; there is none in JAVA_HOME ({java_home}): correct it, or unset it to use PATH's"
    found = f"{command} is Java {version}" if version else "no Java was found"
    return f"{needed}; {found}. Install it with:\n  {install_line(which)}"


def has_cluster() -> bool:
    """Return whether a cluster runs the job: of spark-submit (Glue, EMR), Databricks, or Spark Connect."""
    return is_served() or not {"PYSPARK_GATEWAY_PORT", "DATABRICKS_RUNTIME_VERSION"}.isdisjoint(os.environ)


def is_served() -> bool:
    """Return whether a Spark Connect server of another process runs the job."""
    return os.environ.get(REMOTE, "").startswith("sc://")


def require_java() -> None:
    """Exit with a message that names the fix if Spark cannot start."""
    problem = java_problem(os.environ)
    if problem:
        raise SystemExit(problem)


def main() -> None:
    require_java()
    print(f"Java: {java_command(os.environ)}")


if __name__ == "__main__":
    main()
