"""Prints the description: ``python -m functions.openapi > docs/openapi.json``."""

import json
import sys

from functions.openapi import document

json.dump(document(), sys.stdout, indent=2, sort_keys=True)
sys.stdout.write("\n")
