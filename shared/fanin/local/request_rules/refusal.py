"""Why AWS refuses a request."""

from __future__ import annotations

QUOTAS = "Quotas in Amazon DynamoDB"
TRANSACTIONS = "DynamoDB API Reference, TransactWriteItems"


class Refused(Exception):
    """AWS refuses the request with the error *code*; *page* is the page that documents the rule."""

    def __init__(self, code: str, detail: str, page: str = "") -> None:
        super().__init__(code, detail, page)
        self.code = code
        self.detail = detail
        self.page = page

    def __str__(self) -> str:
        return f"{self.detail} ({self.page})" if self.page else self.detail


def invalid(detail: str, page: str = QUOTAS) -> Refused:
    """Return the refusal of a request of DynamoDB."""
    return Refused("ValidationException", detail, page)


def bounded(subject: str, found: int, most: int, page: str = QUOTAS) -> None:
    """Raise Refused if *found* is more than *most*."""
    if found > most:
        raise invalid(f"{subject}: {found:,}, and at most {most:,} are allowed", page)
