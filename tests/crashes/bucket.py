"""S3's buckets as a crash leaves them: objects by bucket and name, each request one change."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from fanin.item_results.files import Index
from tests.crashes.naming import RESULTS

Answer = tuple[int, dict[str, str], bytes]
XML = {"content-type": "application/xml"}
PAGE = 2
"""Objects in an answer to a list."""


@dataclass
class Buckets:
    """*objects*: by the name of the bucket and that of the object, with a slash between."""

    objects: dict[str, bytes] = field(default_factory=dict)

    def answer(self, operation: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request."""
        parts = urlsplit(url)
        bucket = parts.netloc.split(".")[0]
        name = f"{bucket}{unquote(parts.path)}"
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if operation == "PutObject":
            return self._put(name, headers, body)
        if operation == "GetObject":
            return self._get(name, headers)
        if operation == "HeadObject":
            return self._head(name)
        if operation == "ListObjectsV2":
            return self._list(bucket, query)
        return self._delete(bucket, body)

    def _put(self, name: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if _header(headers, "if-none-match") and name in self.objects:
            return _refusal(412, "PreconditionFailed")
        chunked = "aws-chunked" in _header(headers, "content-encoding")
        self.objects[name] = _without_chunks(body) if chunked else body
        return 200, {"ETag": '"e"'}, b""

    def _get(self, name: str, headers: Mapping[str, str]) -> Answer:
        found = self.objects.get(name)
        if found is None:
            return _refusal(404, "NoSuchKey")
        if not (wanted := _header(headers, "range")):
            return 200, {}, found
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        return 206, {}, found[int(first) : int(last) + 1]

    def _head(self, name: str) -> Answer:
        found = self.objects.get(name)
        if found is None:
            return 404, {}, b""
        return 200, {"ETag": '"e"', "Content-Length": str(len(found))}, b""

    def _list(self, bucket: str, query: Mapping[str, str]) -> Answer:
        after = query.get("continuation-token", "")
        within = f"{bucket}/{query.get('prefix', '')}"
        names = sorted(each for each in self.objects if each.startswith(within))
        names = [each for each in (name.removeprefix(f"{bucket}/") for name in names) if each > after]
        text = "".join(self._listed(bucket, name) for name in names[:PAGE])
        if names[PAGE:]:
            token = f"<NextContinuationToken>{escape(names[PAGE - 1])}</NextContinuationToken>"
            text += f"<IsTruncated>true</IsTruncated>{token}"
        return 200, XML, f"<ListBucketResult>{text}</ListBucketResult>".encode()

    def _listed(self, bucket: str, name: str) -> str:
        size = len(self.objects[f"{bucket}/{name}"])
        return f"<Contents><Key>{escape(name)}</Key><Size>{size}</Size></Contents>"

    def _delete(self, bucket: str, body: bytes) -> Answer:
        for name in _keys(body):
            self.objects.pop(f"{bucket}/{name}", None)
        return 200, XML, b"<DeleteResult/>"


def found_in(buckets: Buckets) -> Iterator[str]:
    """Yield what is in the buckets: objects by their names, and of results what their readers find.

    A crash may leave a part twice, and files that no index names.
    """
    for name, content in buckets.objects.items():
        kind = name.rpartition("/")[2] if name.endswith(("/manifest", "/index")) else name.split("/")[-2]
        if not name.startswith(f"{RESULTS}/"):
            yield name
        elif kind == "parts":
            yield from (f"kept {line!r}" for line in content.splitlines())
        elif kind == "index":
            yield from (f"gathered {line!r}" for line in _lines(buckets, content))
        elif kind == "manifest":
            yield name


def _lines(buckets: Buckets, index: bytes) -> Iterator[bytes]:
    for file in Index.load(index).files:
        yield from gzip.decompress(buckets.objects[f"{RESULTS}/{file.name}"]).splitlines()


def _keys(body: bytes) -> Iterable[str]:
    root = ElementTree.fromstring(body)  # noqa: S314  # the request of a client of this process
    return [each.text or "" for each in root.iter() if each.tag.rpartition("}")[2] == "Key"]


def _header(headers: Mapping[str, str | bytes], name: str) -> str:
    value = next((value for key, value in headers.items() if key.lower() == name), "")
    return value.decode() if isinstance(value, bytes) else value


def _without_chunks(body: bytes) -> bytes:
    """Return the content of a body that is sent in chunks, whose trailer is the checksum."""
    content = b""
    while body:
        head, _, body = body.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if not size:
            break
        content, body = content + body[:size], body[size + 2 :]
    return content


def _refusal(status: int, code: str) -> Answer:
    return status, XML, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()
