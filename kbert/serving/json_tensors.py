"""TensorFlow Serving's JSON: a predict request to arrays, and arrays to its answer.

Strings are JSON strings or {"b64": base64}; in an answer they are base64 if the output's name ends in "_bytes".

Source: TensorFlow Serving `util/json_tensor.cc` and its page on the REST API.
"""

import base64
import binascii

import numpy as np

from kbert.serving.c_library import NUMPY_TYPES, STRING


def read_request(body, signatures):
    """Return (signature name, inputs as arrays, whether the request was by row).

    Args:
        body: the JSON value.
        signatures: dict of name to `kbert.serving.session.Signature`.

    Raises:
        ValueError: the request is not one that the signature takes.
    """
    if not isinstance(body, dict):
        raise ValueError(f"A request must be a JSON object. Received: {type(body).__name__}.")
    unknown = set(body) - {"signature_name", "instances", "inputs"}
    if unknown or ("instances" in body) == ("inputs" in body):
        raise ValueError(
            "A request must have either `instances` or `inputs`, and may have `signature_name`. "
            f"Received: keys {sorted(body)}."
        )
    name = body.get("signature_name", "serving_default")
    if not isinstance(name, str) or name not in signatures:
        raise ValueError(f"`signature_name` must be one of {sorted(signatures)}. Received: signature_name={name!r}.")
    infos = signatures[name].inputs
    by_row = "instances" in body
    columns = _columns_of_rows(body["instances"], infos) if by_row else _columns(body["inputs"], infos)
    if set(columns) != set(infos):
        raise ValueError(f"The inputs of {name} must be {sorted(infos)}. Received: inputs {sorted(columns)}.")
    return name, {key: _to_array(key, columns[key], info) for key, info in infos.items()}, by_row


def write_answer(outputs, by_row):
    """Return the JSON value of outputs, a dict of arrays."""
    columns = {name: _to_json(name, array) for name, array in outputs.items()}
    if not by_row:
        return {"outputs": columns if len(columns) > 1 else next(iter(columns.values()))}
    if len(columns) == 1:
        return {"predictions": next(iter(columns.values()))}
    rows = zip(*columns.values(), strict=True)
    return {"predictions": [dict(zip(columns, row, strict=True)) for row in rows]}


def _columns(inputs, infos):
    is_object = isinstance(inputs, dict) and set(inputs) != {"b64"}
    return inputs if is_object else _one_column(inputs, infos)


def _columns_of_rows(instances, infos):
    if not isinstance(instances, list) or not instances:
        raise ValueError("`instances` must be a list with at least one instance.")
    are_objects = {isinstance(row, dict) and set(row) != {"b64"} for row in instances}
    if are_objects == {False}:
        return _one_column(instances, infos)
    names = set(instances[0]) if are_objects == {True} else None
    if names is None or any(set(row) != names for row in instances):
        raise ValueError("All of `instances` must be objects with the same names, or all plain values.")
    return {name: [row[name] for row in instances] for name in names}


def _one_column(values, infos):
    if len(infos) != 1:
        raise ValueError(f"Each input must have its name. Received: values alone, for the inputs {sorted(infos)}.")
    return {next(iter(infos)): values}


def _to_array(name, values, info):
    shape = _shape(name, values, len(info.shape))
    flat = values
    for _ in shape[1:]:
        flat = [value for row in flat for value in row]
    if info.code == STRING:
        array = np.empty(len(flat), object)
        array[:] = [_to_bytes(name, value) for value in flat]
    else:
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in flat):
            raise ValueError(f"`{name}` must hold whole numbers only.")
        try:
            array = np.array(flat, NUMPY_TYPES[info.code])
        except OverflowError as error:
            raise ValueError(f"`{name}` must hold numbers of 32 bits. Received: {error}.") from error
    return array.reshape(shape)


def _shape(name, values, num_axes):
    """Return the shape of nested lists that must be `num_axes` deep and rectangular."""
    shape, level = [], [values]
    for _ in range(num_axes):
        if not all(isinstance(row, list) for row in level) or len({len(row) for row in level}) > 1:
            raise ValueError(f"`{name}` must be lists of equal length, {num_axes} deep.")
        shape.append(len(level[0]) if level else 0)
        level = [value for row in level for value in row]
    if any(isinstance(value, list) for value in level):
        raise ValueError(f"`{name}` must be lists of equal length, {num_axes} deep.")
    return shape


def _to_bytes(name, value):
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")  # What no text may hold is left out by the tokenizer.
    if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
        try:
            return base64.b64decode(value["b64"], validate=True)
        except binascii.Error as error:
            raise ValueError(f'`{name}` must hold base64 in {{"b64": ...}}. Received: {error}.') from error
    raise ValueError(f'`{name}` must hold strings, or {{"b64": "base64"}}. Received: {type(value).__name__}.')


def _to_json(name, array):
    if array.dtype != object:
        return array.tolist()
    write = _to_base64 if name.endswith("_bytes") else bytes.decode
    written = np.empty(array.size, object)
    written[:] = [write(value) for value in array.flat]
    return written.reshape(array.shape).tolist()


def _to_base64(value):
    return {"b64": base64.b64encode(value).decode()}
