"""Where a run's deployment comes from: the app of a clone, or that of the installed package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# Not deployed: see fanin_cdk/packaging/code.py.
NOT_DEPLOYED = ("fanin/local/", "fanin/cli/", "fanin/cost/")


@dataclass(frozen=True, slots=True)
class Origin:
    """The CDK app of a run, and where its assemblies are cached.

    ``folder`` names the origin, in ``fanin local list`` too. ``app``: the module of the CDK app.
    ``paths``: where Python finds it and the packages. ``sources``: patterns in *folder* of the files that an
    assembly depends on. ``cache``: the folder of the cached assemblies.
    """

    folder: Path
    app: str
    paths: tuple[Path, ...]
    sources: tuple[str, ...]
    cache: Path

    def files(self) -> list[Path]:
        """Return the files that an assembly depends on, sorted."""
        found = {path for pattern in self.sources for path in self.folder.glob(pattern) if path.is_file()}
        return sorted(path for path in found if not self._inside(path).startswith(NOT_DEPLOYED))

    def _inside(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix().removeprefix("shared/")


def clone(root: Path) -> Origin:
    """Return the origin of a run from the clone at *root*."""
    sources = ("infra/**/*.py", "functions/**/*.py", "shared/**/*.py", "requirements.txt", "cdk.json")
    return Origin(root, "infra.app", (root / "shared", root), sources, root / "build" / "local")


def installed(packages: Path, user: Mapping[str, str]) -> Origin:
    """Return the origin of a run from the package in *packages*, for the environment variables *user*."""
    sources = ("fanin/**/*.py", "fanin_cdk/**/*.py", "fanin_cdk/requirements.txt")
    return Origin(packages, "fanin_cdk.app", (packages,), sources, cache_of(user))


def cache_of(user: Mapping[str, str]) -> Path:
    """Return the folder in the user's cache, where XDG puts it; as XDG says, a relative path is ignored."""
    given = Path(user.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path("~/.cache").expanduser()) / "fanin" / "local"


def origin(package: Path = PACKAGE, user: Mapping[str, str] = os.environ) -> Origin:
    """Return the origin of this process's runs: that of *package*, the folder of ``fanin``."""
    root = package.parents[1]
    if package.parent.name == "shared" and (root / "infra" / "app.py").is_file():
        return clone(root)
    return installed(package.parent, user)


ORIGIN = origin()
