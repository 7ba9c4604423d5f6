"""An assembly of an API without routes, a bus and a table: for tests of the processes of a run."""

from __future__ import annotations

import json
from pathlib import Path

STACK = "Fanin-small"
KEY = {"AttributeName": "pk"}
RESOURCES = {
    "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Name": "small", "ProtocolType": "HTTP"}},
    "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": "small"}},
    "Table": {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "AttributeDefinitions": [{**KEY, "AttributeType": "S"}],
            "KeySchema": [{**KEY, "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        },
    },
}
OUTPUTS = {
    name: {"Value": {"Ref": name.removesuffix("Id").removesuffix("Name")}} for name in ("ApiId", "BusName")
}


def assembly(folder: Path) -> Path:
    """Write the assembly into a folder in *folder*, and return that."""
    written = folder / "small"
    written.mkdir()
    name = f"{STACK}.template.json"
    file = {
        "source": {"path": name, "packaging": "file"},
        "destinations": {"here": {"objectKey": "small.json"}},
    }
    (written / name).write_text(json.dumps({"Resources": RESOURCES, "Outputs": OUTPUTS}))
    (written / f"{STACK}.assets.json").write_text(json.dumps({"files": {"template": file}}))
    return written
