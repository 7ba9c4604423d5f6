"""The paths of what the construct deploys: in an installed wheel below this package, in a clone beside it."""

from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
PACKAGE = HERE.parent / "fanin"


def deployed_from(here: Path) -> Path:
    """Return the folder of ``functions`` and ``requirements.txt`` for the package in *here*."""
    return here if (here / "functions").is_dir() else here.parents[1]


FUNCTIONS = deployed_from(HERE) / "functions"
REQUIREMENTS = deployed_from(HERE) / "requirements.txt"
