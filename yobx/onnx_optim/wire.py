"""The wire format of protocol buffers, as far as it is written here."""

from __future__ import annotations

__all__ = ["length_delimited", "varint"]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


_SHORT = tuple(bytes((i,)) for i in range(128))


def varint(number: int) -> bytes:
    """Number as the wire format writes lengths and tags: seven bits a byte, the lowest first.

    Args:
        number: Not negative.
    """
    return _SHORT[number] if number < 128 else _varint(number)


def length_delimited(tag: bytes, data: bytes) -> bytes:
    """A field that holds a message or text.

    Args:
        tag: Number and wire type of the field, as `varint` writes them.
        data: What it holds, serialized.
    """
    return tag + varint(len(data)) + data
