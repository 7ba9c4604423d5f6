"""The paths of the deployment's inputs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ROOT / "functions"
PACKAGE = ROOT / "shared" / "fanin"
PIPELINE = ROOT / "pipeline"
REQUIREMENTS = ROOT / "requirements.txt"
CDK_JSON = ROOT / "cdk.json"
