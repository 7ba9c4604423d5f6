"""The verbs that read: where, status, list, outstanding, failures."""

from __future__ import annotations

from fanin.cli.output import Column
from fanin.cli.verbs import Invocation, Verbs

verb = Verbs()


@verb("where")
def where(call: Invocation) -> None:
    """Print the URL of the API that the other verbs use, and how it was found."""
    site = call.site
    columns = (Column("URL", lambda site: site["url"]), Column("Found by", lambda site: site["found"]))
    call.output.table(columns, [{"url": site.url, "found": site.found}])
