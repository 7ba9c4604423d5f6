"""Writes rows of Arrow as JSON, with the values that Spark's ``to_json`` writes. Pure.

A field that is null is left out. Characters that JSON or SQS refuses are escaped. Texts may differ from
Spark's where JSON allows several: ``1e+10`` and ``1.0E10``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

REFUSED = ("\ufffe", "\uffff")
"""Characters of JSON that SQS refuses in a message: see SendMessage in its API reference."""
_FIRST_PRINTED = 0x20
_FIRST_BYTE_OF_REFUSED = "\uffff".encode()[0]
_NOT_FINITE = (("nan", '"NaN"'), ("inf", '"Infinity"'), ("-inf", '"-Infinity"'))
_QUOTED = (kinds.is_string, kinds.is_large_string, kinds.is_date32, kinds.is_timestamp)
_BARE = (kinds.is_boolean, kinds.is_integer, kinds.is_float32, kinds.is_float64, kinds.is_decimal128)


class NoJson(ValueError):
    """A column is of a type that this module does not write; the message names it."""


def check(schema: pa.Schema) -> None:
    """Raise NoJson unless every column of *schema* can be written."""
    for field in schema:
        if not _is_written(field.type):
            raise NoJson(f"column {field.name} is of the type {field.type}")


def rows_of(batch: pa.RecordBatch) -> pa.Array:
    """Return each row of *batch* as the text of a JSON object."""
    return _objects(list(batch.schema), batch.columns)


def _is_written(kind: pa.DataType) -> bool:
    if kinds.is_struct(kind):
        return kind.num_fields > 0 and all(_is_written(field.type) for field in kind)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_dictionary(kind):
        return _is_written(kind.value_type)
    # Spark takes nanoseconds for another type, or refuses them.
    is_exact = not kinds.is_timestamp(kind) or kind.unit != "ns"
    return is_exact and any(is_kind(kind) for is_kind in (*_QUOTED, *_BARE))


def _objects(fields: Sequence[pa.Field], columns: Sequence[pa.Array]) -> pa.Array:
    texts = [_texts(column) for column in columns]
    quotes = ['"' if _is_quoted(column.type) else "" for column in columns]
    heads = [
        f"{json.dumps(field.name, ensure_ascii=False)}:{quote}"
        for field, quote in zip(fields, quotes, strict=True)
    ]
    if any(text.null_count for text in texts):
        return _sparse([_joined(*each) for each in zip(heads, texts, quotes, strict=True)])
    between = [f"{quote},{head}" for quote, head in zip(quotes, heads[1:], strict=False)]
    return _joined(*chain(*zip(["{" + heads[0], *between], texts, strict=True)), quotes[-1] + "}")


def _sparse(members: list[pa.Array]) -> pa.Array:
    """Return objects of those *members* that are not null."""
    if all(member.null_count for member in members):
        # Arrow leaves out a row that has nothing to join.
        is_empty = reduce(pc.and_, (member.is_null() for member in members))
        members = [pc.if_else(is_empty, "", members[0]), *members[1:]]
    return _joined("{", pc.binary_join_element_wise(*members, ",", null_handling="skip"), "}")


def _joined(*pieces: object) -> pa.Array:
    """Return texts one after another; null where a piece is null."""
    return pc.binary_join_element_wise(*pieces, "")


def _is_quoted(kind: pa.DataType) -> bool:
    if kinds.is_dictionary(kind):
        return _is_quoted(kind.value_type)
    return any(is_kind(kind) for is_kind in _QUOTED)


def _texts(column: pa.Array) -> pa.Array:
    """Return the values of *column* as JSON, those of `_is_quoted` without their quotes."""
    kind = column.type
    if kinds.is_dictionary(kind):
        return _texts(column.dictionary).take(column.indices)
    if kinds.is_struct(kind):
        return _nulls_of(column, _objects(list(kind), column.flatten()))
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return _nulls_of(column, _lists(column))
    if kinds.is_timestamp(kind):
        text = pc.cast(pc.cast(column, pa.timestamp("us", "UTC" if kind.tz else None)), pa.string())
        return pc.replace_substring(text, " ", "T", max_replacements=1)
    text = pc.cast(column, pa.string())
    if kinds.is_floating(kind):
        return _floats(text)
    return _escaped(text) if kinds.is_string(kind) or kinds.is_large_string(kind) else text


def _nulls_of(column: pa.Array, texts: pa.Array) -> pa.Array:
    return pc.if_else(column.is_valid(), texts, None) if column.null_count else texts


def _lists(column: pa.Array) -> pa.Array:
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = column.flatten()
    quote = '"' if _is_quoted(values.type) else ""
    texts = _joined(quote, _texts(values), quote).fill_null("null")
    return _joined("[", pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), ","), "]")


def _floats(text: pa.Array) -> pa.Array:
    """Return what Arrow writes of floating-point numbers as JSON: 1 is 1.0, and NaN a string."""
    for name, quoted in _NOT_FINITE:
        text = pc.if_else(pc.equal(text, name), quoted, text)
    is_whole = pc.match_substring_regex(text, r"^-?\d+$")
    return pc.if_else(is_whole, _joined(text, ".0"), text)


def _escaped(text: pa.Array) -> pa.Array:
    """Return *text* with the escapes of JSON; a character is replaced only where its byte is in any text."""
    found = _bytes_of(text)
    least, greatest = (int(found.min()), int(found.max())) if found.size else (_FIRST_PRINTED, 0)
    copied = found.tobytes()
    characters = [character for character in '\\"' if character.encode() in copied]
    if least < _FIRST_PRINTED:
        characters += map(chr, np.unique(found[found < _FIRST_PRINTED]).tolist())
    if greatest >= _FIRST_BYTE_OF_REFUSED:
        characters += [character for character in REFUSED if character.encode() in copied]
    for character in characters:
        text = pc.replace_substring(text, character, json.dumps(character)[1:-1])
    return text


def _bytes_of(text: pa.Array) -> np.ndarray:
    """Return the bytes of all texts."""
    _, offsets, data = text.buffers()
    if data is None or not len(text):
        return np.zeros(0, np.uint8)
    bounds = np.frombuffer(offsets, np.int32)[[text.offset, text.offset + len(text)]]
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[1]]
