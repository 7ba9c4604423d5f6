"""The reference of the HTTP API has what the document has."""

from __future__ import annotations

import json
from pathlib import Path

from functions.openapi.shaping import FORMS
from website.http_reference import reference

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


def test_a_body_of_several_forms_names_each_of_them() -> None:
    page = reference(json.loads(DOCUMENT.read_text()))

    for forms in FORMS.values():
        links = " or ".join(f"[{form}](#{form.lower()})" for form in forms)
        assert f"Either {links}." in page
