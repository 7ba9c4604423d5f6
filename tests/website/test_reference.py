"""The reference of the HTTP API has what the document has."""

from __future__ import annotations

import json
import re
from pathlib import Path

from functions.openapi.shaping import FORMS
from website.http_reference import Reference

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def test_a_body_of_several_forms_names_each_of_them() -> None:
    text = "".join(text for _, text in Reference(json.loads(DOCUMENT.read_text())).pages())

    for forms in FORMS.values():
        links = " or ".join(rf"\[{form}\]\([\w.]*#{form.lower()}\)" for form in forms)
        assert re.search(f"Either {links}.", text)
