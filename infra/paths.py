"""The paths of the project's own app; ``fanin_cdk.packaging.paths`` has those of what is deployed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = ROOT / "pipeline"
CDK_JSON = ROOT / "cdk.json"
