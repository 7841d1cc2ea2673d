"""A SavedModel, opened by the loader that TensorFlow Serving is built on."""

import ctypes
import dataclasses
import pathlib

import numpy as np

from kbert.serving.c_library import (
    NUMPY_TYPES,
    STRING,
    CheckedStatus,
    Output,
    load_wordpiece_op,
    make_tensor,
    open_library,
    read_tensor,
    return_freed_memory,
)
from kbert.serving.wire import fields_by_number


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """An input or output of a signature.

    Attributes:
        tensor: str, its name in the graph, such as "fill_mask_text:0".
        code: int, its type in TensorFlow's numbers.
        shape: tuple of int, -1 = free.
    """

    tensor: str
    code: int
    shape: tuple


@dataclasses.dataclass(frozen=True)
class Signature:
    """What goes in and what comes out: two dicts of name to `TensorInfo`."""

    inputs: dict
    outputs: dict


class SavedModelSession:
    """Open a SavedModel and run its signatures. Several threads may run at a time.

    Args:
        path: folder of the SavedModel.

    Raises:
        ValueError: the folder holds no SavedModel, or one with an op that the library does not know.
        ImportError: TensorFlow or tensorflow_text is not installed.
    """

    def __init__(self, path):
        path = pathlib.Path(path)
        library = open_library()
        load_wordpiece_op()
        self._graph, options, buffer = library.TF_NewGraph(), library.TF_NewSessionOptions(), library.TF_NewBuffer()
        tags = (ctypes.c_char_p * 1)(b"serve")
        try:
            with CheckedStatus() as status:
                self._session = library.TF_LoadSessionFromSavedModel(
                    options, None, str(path).encode(), tags, 1, self._graph, buffer, status
                )
            meta_graph = ctypes.string_at(buffer.contents.data, buffer.contents.length)
        finally:
            library.TF_DeleteSessionOptions(options)
            library.TF_DeleteBuffer(buffer)
        self.signatures = _read_signatures(meta_graph)
        self._asked = set()
        return_freed_memory()

    def run(self, name, inputs):
        """Run one signature.

        Args:
            name: str, of the signature.
            inputs: dict of NumPy arrays, of bytes in object arrays for strings. Every input of the signature, with its
                type and number of axes.

        Returns:
            dict of NumPy arrays.

        Raises:
            ValueError: there is no such signature, inputs are missing, too many or of another kind, or TensorFlow
                refuses them.
        """
        if name not in self.signatures:
            raise ValueError(
                f"A signature must be one of the model's, {sorted(self.signatures)}. Received: signature={name!r}."
            )
        signature = self.signatures[name]
        _check_inputs(name, signature, inputs)
        library, kept = open_library(), []
        outputs = list(signature.outputs)
        tensors = (ctypes.c_void_p * len(inputs))()
        results = (ctypes.c_void_p * len(outputs))()
        try:
            for index, key in enumerate(inputs):
                tensors[index] = make_tensor(inputs[key], kept)
            with CheckedStatus() as status:
                library.TF_SessionRun(
                    *(self._session, None, self._find(signature.inputs, inputs), tensors, len(inputs)),
                    *(self._find(signature.outputs, outputs), results, len(outputs), None, 0, None, status),
                )
            return {key: read_tensor(result) for key, result in zip(outputs, results, strict=True)}
        finally:
            for tensor in (*tensors, *results):
                if tensor:
                    library.TF_DeleteTensor(tensor)
            if name not in self._asked:  # TensorFlow prepares the graph of a signature when that is first run.
                self._asked.add(name)
                return_freed_memory()

    def close(self):
        """Free the model's memory. The session cannot be used afterwards."""
        library = open_library()
        with CheckedStatus() as status:
            library.TF_CloseSession(self._session, status)
        with CheckedStatus() as status:
            library.TF_DeleteSession(self._session, status)
        library.TF_DeleteGraph(self._graph)

    def _find(self, infos, names):
        found = (Output * len(names))()
        for place, name in zip(found, names, strict=True):
            operation, _, index = infos[name].tensor.partition(":")
            place.operation = open_library().TF_GraphOperationByName(self._graph, operation.encode())
            place.index = int(index or 0)
        return found


def _check_inputs(name, signature, inputs):
    if set(inputs) != set(signature.inputs):
        raise ValueError(f"The inputs of {name} must be {sorted(signature.inputs)}. Received: inputs {sorted(inputs)}.")
    for key, info in signature.inputs.items():
        kind = np.dtype(object if info.code == STRING else NUMPY_TYPES[info.code])
        array = inputs[key]
        if array.dtype != kind or array.ndim != len(info.shape):
            raise ValueError(
                f"`{key}` must have the type {kind} and {len(info.shape)} axes. "
                f"Received: {array.dtype} and {array.ndim} axes."
            )


def _read_signatures(meta_graph):
    # MetaGraphDef 5 = map of names to SignatureDef: 1 = inputs, 2 = outputs, maps of names to TensorInfo.
    signatures = {}
    for name, message in _read_map(fields_by_number(meta_graph)[5]):
        if name != "__saved_model_init_op":
            fields = fields_by_number(message)
            inputs, outputs = (
                {key: _read_tensor_info(value) for key, value in _read_map(fields.get(number, ()))} for number in (1, 2)
            )
            signatures[name] = Signature(inputs, outputs)
    return signatures


def _read_map(entries):
    for entry in entries:
        fields = fields_by_number(entry)
        yield fields[1][0].decode(), fields[2][0]


def _read_tensor_info(message):
    # TensorInfo: 1 = name, 2 = dtype, 3 = TensorShapeProto: 2 = dimensions, their 1 = size, -1 as 2**64 - 1.
    fields = fields_by_number(message)
    dimensions = fields_by_number(fields[3][0]).get(2, ()) if 3 in fields else ()
    sizes = (fields_by_number(dimension).get(1, [0])[0] for dimension in dimensions)
    shape = tuple(size - 2**64 if size >= 2**63 else size for size in sizes)
    return TensorInfo(fields[1][0].decode(), fields[2][0], shape)
