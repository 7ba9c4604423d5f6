"""A browser without a page: requests to the dashboard, with the cookie that it sets."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

BATCH = "00000000-0000-0000-0000-000000000000"


class Browser:
    """Sends requests to the dashboard of *address* as a browser does; *cookie* is what it keeps."""

    def __init__(self, address: str) -> None:
        self.address = urlsplit(address)
        self.port = self.address.port
        self.token = self.address.query.partition("=")[2]
        self.cookie = None

    def ask(self, path, method="GET", body=None, **headers):
        sent = {"Host": f"127.0.0.1:{self.port}", **({"Cookie": self.cookie} if self.cookie else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body=body, headers=sent)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        answer.json = lambda: json.loads(answer.text)
        connection.close()
        return answer

    def open(self):
        answer = self.ask(f"/?t={self.token}")
        self.cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0] or self.cookie
        return answer

    def write(self, path, body="{}", **headers):
        own = {"Origin": f"http://127.0.0.1:{self.port}", "X_Fanin_Dashboard": "1"}
        return self.ask(path, "POST", body, **own | headers)
