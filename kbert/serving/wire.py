"""Protocol buffers as bytes: enough of the wire format to write a request and to read a signature."""


def field(number, payload):
    """Return a field that holds bytes: a string, a message, or packed numbers.

    Args:
        number: int, the field's.
        payload: bytes.
    """
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def read_fields(message):
    """Yield (number, value) of each field of a message, in order: bytes, or an int for a number.

    Args:
        message: bytes.
    """
    place = 0
    while place < len(message):
        key, place = _read_varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _read_varint(message, place)
        else:
            length = {1: 8, 5: 4}.get(kind)
            if length is None:
                length, place = _read_varint(message, place)
            value, place = message[place : place + length], place + length
        yield key >> 3, value


def fields_by_number(message):
    """Return a dict of field number to the list of its values; see `read_fields`."""
    fields = {}
    for number, value in read_fields(message):
        fields.setdefault(number, []).append(value)
    return fields


def _varint(number):
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*digits, number])


def _read_varint(message, place):
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return number, place
