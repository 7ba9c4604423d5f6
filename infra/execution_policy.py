"""What CloudFormation may do for the stack, for accounts that are not bootstrapped with administrator rights.

``python -m infra.execution_policy ACCOUNT REGION`` writes the policies to build/, for
``cdk bootstrap --cloudformation-execution-policies``.

The actions are those that the types of the stack's resources declare: ``handlers`` of their CloudFormation
schemas, which cfn-lint has. The resources are the narrowest that CloudFormation's names allow: it begins most
of them with the name of the stack, ``Fanin-STAGE``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from infra.execution_resources import EVERYWHERE, MORE, RESOURCES, TYPES, UNUSED
from infra.paths import ROOT

# Without importing cfn-lint, which takes a second.
DATA = Path(str(distribution("cfn-lint").locate_file("cfnlint/data")))
MOST_CHARACTERS = 6144
"""Of a managed policy, without white space: IAM and AWS STS quotas."""
HANDLERS = ("create", "read", "update", "delete")
Statement = dict[str, Any]
Grants = Mapping[str, frozenset[str]]


def declared(kind: str) -> set[str]:
    """Return the actions that the handlers of the resource type *kind* need, by its CloudFormation schema."""
    handlers = _schema(kind)["handlers"]
    return {action for name in HANDLERS for action in handlers.get(name, {}).get("permissions", ())}


def used(kind: str) -> set[str]:
    """Return those of them that the templates need; the others are of properties that no template has."""
    unused = [*UNUSED["*"], *UNUSED.get(kind, ())]
    return {action for action in declared(kind) if not any(re.fullmatch(each, action) for each in unused)}


def grants() -> Grants:
    """Return the resources of each action; *RESOURCES* names them."""
    actions = {action for kind in TYPES for action in used(kind)}
    return {action: _resources(action) for action in actions} | {
        action: frozenset(resources) for action, resources in MORE.items()
    }


def policies(account: str, region: str) -> list[dict[str, Any]]:
    """Return the managed policies for *account* and *region*, each within IAM's limit."""
    parts: list[list[Statement]] = [[]]
    for statement in _statements(grants()):
        placed = {**statement, "Resource": [_placed(arn, account, region) for arn in statement["Resource"]]}
        if length(_policy([*parts[-1], placed])) > MOST_CHARACTERS:
            parts.append([])
        parts[-1].append(placed)
    return [_policy(part) for part in parts]


def length(policy: Mapping[str, Any]) -> int:
    """Return the characters of *policy* as IAM counts them."""
    return len(json.dumps(policy, separators=(",", ":")))


def _statements(granted: Grants) -> Iterator[Statement]:
    """Yield a statement for each set of resources."""
    together: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for action, resources in sorted(granted.items()):
        together[resources].append(action)
    for resources, actions in sorted(together.items(), key=lambda each: each[1]):
        yield {"Effect": "Allow", "Action": actions, "Resource": sorted(resources)}


def _placed(arn: str, account: str, region: str) -> str:
    return arn.replace("ACCOUNT", account).replace("REGION", region)


def _policy(statements: Sequence[Statement]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _resources(action: str) -> frozenset[str]:
    """Return the ARNs of the resources that *action* takes; ``*`` where IAM knows none for it."""
    service, name = action.split(":")
    known = RESOURCES[service]
    if action in EVERYWHERE:
        return frozenset("*")
    if service == "apigateway":  # its actions are methods, its resources paths
        return frozenset(known["path"])
    kinds = {kind.lower() for kind in _iam()[service]["Actions"][name.lower()].get("Resources", ())}
    if not kinds:
        return frozenset("*")
    return frozenset(arn for kind in sorted(kinds & known.keys()) for arn in known[kind])


@cache
def _iam() -> dict[str, Any]:
    """Return the actions of IAM with the types of their resources, by service."""
    found: dict[str, Any] = json.loads((DATA / "AdditionalSpecs" / "Policies.json").read_text())
    return found


@cache
def _files() -> dict[str, str]:
    found: dict[str, str] = json.loads((DATA / "schemas" / "providers" / "us-east-1.json").read_text())
    return found


def _schema(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (DATA / "schemas" / "resources" / f"{_files()[kind]}.json").read_text()
    )
    return found


def main(arguments: Sequence[str]) -> None:
    """Write the policies for ACCOUNT and REGION. Exits with a message for other arguments."""
    if len(arguments) != 2 or not re.fullmatch(r"[0-9]{12}", arguments[0]):
        sys.exit("usage: python -m infra.execution_policy ACCOUNT REGION, with the 12 digits of the account")
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    for number, policy in enumerate(policies(*arguments), start=1):
        path = folder / f"execution-policy-{number}.json"
        path.write_text(json.dumps(policy, indent=1) + "\n")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
