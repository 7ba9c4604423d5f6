"""Serves a tracker in memory as fanin's HTTP API does, on a loopback port: the routes of the cases."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fanin_conformance import Adapter, NotSupported, Refused, Span

STATUSES = {"not_found": 404, "conflict": 409, "invalid": 400, "denied": 401}
INDEX = re.compile(r"(0|[1-9][0-9]{0,18})")
Json = dict[str, Any]


class Routes:
    """The answers of the API over *tracker*; each route gets the batch, the body and the idempotency key."""

    def __init__(self, tracker: Adapter) -> None:
        self.tracker = tracker
        self.routes: dict[tuple[str, str], Callable[[str, Json, str], Json]] = {
            ("POST", "batches"): self.open,
            ("POST", "items"): self.add,
            ("POST", "close"): self.close,
            ("POST", "cancel"): self.cancel,
            ("POST", "acks"): self.ack,
            ("GET", "batches"): self.status,
            ("GET", "outstanding"): lambda batch, *_: spans(self.tracker.outstanding(batch)),
            ("GET", "failures"): lambda batch, *_: spans(self.tracker.failures(batch)),
        }

    def answer(self, method: str, path: str, body: Json, key: str) -> tuple[int, Json]:
        parts = path.partition("?")[0].strip("/").split("/")[1:]
        what = parts[0] if len(parts) < 3 else parts[2]
        try:
            return 200, self.routes[method, what]("".join(parts[1:2]), body, key)
        except Refused as refusal:
            return STATUSES[refusal.why], {}
        except NotSupported:
            return 400, {}
        except Exception as error:  # a tracker that fails answers as one does
            return 500, {"detail": str(error)}

    def open(self, _: str, body: Json, key: str) -> Json:
        options = {
            "user_key": body.get("userKey"),
            "expected_items": body.get("expectedItems"),
            "deadline_seconds": body.get("deadlineSeconds"),
            "kept_open_seconds": body.get("retentionSeconds", {}).get("open"),
        }
        return {"batchId": self.tracker.open(token=key, **options)}

    def add(self, batch: str, body: Json, key: str) -> Json:
        groups = self.tracker.add(batch, body["count"], key).groups
        return {"groups": [{"id": group.id, "upto": group.size} for group in groups]}

    def close(self, batch: str, body: Json, key: str) -> Json:
        completions = self.tracker.close(batch, key).completions
        return {"completedByYou": bool(completions), "userKey": self.tracker.status(batch).user_key}

    def cancel(self, batch: str, body: Json, key: str) -> Json:
        self.tracker.cancel(batch)
        return {}

    def ack(self, _: str, body: Json, key: str) -> Json:
        acks = body.get("acks") or [{"itemId": item} for item in body["items"]]
        if "from" in acks[0]:
            (part,) = acks
            self.tracker.ack_span(part["batchId"], Span(part["groupId"], part["from"], part["to"]))
            return {"results": [], "completions": []}
        items = [ack["itemId"] for ack in acks]
        if not all(INDEX.fullmatch(item.split(":")[2]) for item in items):
            raise Refused("invalid")
        failed = acks[0].get("outcome") == "failure"
        answer = self.tracker.fail(items, "reason") if failed else self.tracker.ack(items, key)
        completions = [
            {"batchId": each.batch, "result": "succeeded" if each.succeeded else "", "userKey": each.user_key}
            for each in answer.completions
        ]
        verdicts = answer.verdicts or ["accepted"] * len(items)
        return {"results": [{"verdict": verdict} for verdict in verdicts], "completions": completions}

    def status(self, batch: str, body: Json, key: str) -> Json:
        found = self.tracker.status(batch)
        state = "COMPLETE" if found.is_complete else "CLOSED" if found.is_closed else "OPEN"
        return {
            "isClosed": found.is_closed,
            "isComplete": found.is_complete,
            "state": "TIMED_OUT" if found.is_over and not found.is_complete else state,
            "userKey": found.user_key,
            "total": found.total,
            "progress": {"acked": found.acked, "failed": found.failed},
        }


def spans(found: Any) -> Json:
    return {"ranges": [{"groupId": each.group, "from": each.first, "to": each.last} for each in found]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    routes: Routes

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.reply(*self.routes.answer("POST", self.path, body, self.headers["Idempotency-Key"]))

    def do_GET(self) -> None:
        self.reply(*self.routes.answer("GET", self.path, {}, ""))

    def reply(self, status: int, document: Json) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Print no line for each request."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """Be calm where a client cuts the connection: a case does."""


@contextmanager
def served(tracker: Adapter, routes: type[Routes] = Routes) -> Iterator[str]:
    """Yield the URL of *tracker*."""
    with Server(("127.0.0.1", 0), type("Served", (Handler,), {"routes": routes(tracker)})) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
