"""TensorFlow's C library as its wheel brings it, opened without Python's TensorFlow."""

import ctypes
import functools
import importlib.util
import pathlib

import numpy as np

_POINTER, _SIZE, _TEXT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
_INT64S = ctypes.POINTER(ctypes.c_int64)
STRING = 7
# tensorflow/core/framework/types.proto
NUMPY_TYPES = {1: np.float32, 2: np.float64, 3: np.int32, 4: np.uint8, 9: np.int64, 10: np.bool_}
_STRING_SIZE = 24  # Of a TF_TString.
_M_ARENA_MAX = -8  # malloc.h


class Output(ctypes.Structure):
    """TF_Output: an output of an operation."""

    _fields_ = [("operation", _POINTER), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    """TF_Buffer: bytes."""

    _fields_ = [("data", _POINTER), ("length", _SIZE), ("deallocator", _POINTER)]


_OUTPUTS, _POINTERS, _BUFFER = ctypes.POINTER(Output), ctypes.POINTER(_POINTER), ctypes.POINTER(Buffer)
# tensorflow/c/c_api.h, tf_tensor.h, tf_tstring.h: name -> (result, arguments).
_FUNCTIONS = {
    "TF_NewStatus": (_POINTER, []),
    "TF_DeleteStatus": (None, [_POINTER]),
    "TF_GetCode": (ctypes.c_int, [_POINTER]),
    "TF_Message": (_TEXT, [_POINTER]),
    "TF_LoadLibrary": (_POINTER, [_TEXT, _POINTER]),
    "TF_NewBuffer": (_BUFFER, []),
    "TF_DeleteBuffer": (None, [_BUFFER]),
    "TF_GetAllOpList": (_BUFFER, []),
    "TF_NewGraph": (_POINTER, []),
    "TF_DeleteGraph": (None, [_POINTER]),
    "TF_NewSessionOptions": (_POINTER, []),
    "TF_DeleteSessionOptions": (None, [_POINTER]),
    "TF_LoadSessionFromSavedModel": (
        _POINTER,
        [_POINTER, _BUFFER, _TEXT, ctypes.POINTER(_TEXT), ctypes.c_int, _POINTER, _BUFFER, _POINTER],
    ),
    "TF_CloseSession": (None, [_POINTER, _POINTER]),
    "TF_DeleteSession": (None, [_POINTER, _POINTER]),
    "TF_GraphOperationByName": (_POINTER, [_POINTER, _TEXT]),
    "TF_SessionRun": (
        None,
        [
            *(_POINTER, _BUFFER, _OUTPUTS, _POINTERS, ctypes.c_int, _OUTPUTS, _POINTERS, ctypes.c_int),
            *(_POINTERS, ctypes.c_int, _BUFFER, _POINTER),
        ],
    ),
    "TF_AllocateTensor": (_POINTER, [ctypes.c_int, _INT64S, ctypes.c_int, _SIZE]),
    "TF_DeleteTensor": (None, [_POINTER]),
    "TF_TensorData": (_POINTER, [_POINTER]),
    "TF_TensorType": (ctypes.c_int, [_POINTER]),
    "TF_NumDims": (ctypes.c_int, [_POINTER]),
    "TF_Dim": (ctypes.c_int64, [_POINTER, ctypes.c_int]),
    "TF_StringInit": (None, [_POINTER]),
    "TF_StringAssignView": (None, [_POINTER, _TEXT, _SIZE]),
    "TF_StringGetDataPointer": (_POINTER, [_POINTER]),
    "TF_StringGetSize": (_SIZE, [_POINTER]),
}


@functools.cache
def open_library():
    """Return TensorFlow's C API as a `ctypes.CDLL` with typed functions.

    Raises:
        ImportError: TensorFlow is not installed.
    """
    folder = _package_folder("tensorflow")
    found = sorted(folder.glob("libtensorflow_cc.*"))
    if not found:
        raise ImportError(f"TensorFlow's wheel must hold libtensorflow_cc. Received: {folder}, which has none.")
    library = ctypes.CDLL(str(found[0]), ctypes.RTLD_GLOBAL)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


@functools.cache
def load_wordpiece_op():
    """Make the one op that is not core TensorFlow's known to the library, as TensorFlow Serving's build does."""
    path = _package_folder("tensorflow_text") / "python" / "ops" / "_fast_wordpiece_tokenizer.so"
    with CheckedStatus() as status:
        open_library().TF_LoadLibrary(str(path).encode(), status)


def return_freed_memory():
    """Give back what loading a model or preparing a signature has freed: glibc would keep it for later."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:  # Other C libraries have no such function.
        trim(ctypes.c_size_t(0))


def keep_one_heap():
    """Let all threads share one heap, in a process whose threads take and free the large arrays of requests.

    glibc gives each of some threads a heap of its own, and each keeps for itself what its largest request has freed:
    the memory of a server under load grows for minutes. Call it before the threads start.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:  # Other C libraries have no such function.
        set_option(ctypes.c_int(_M_ARENA_MAX), ctypes.c_int(1))


class CheckedStatus:
    """Context manager that gives a TF_Status and raises ValueError with its message unless it is OK."""

    def __enter__(self):
        self._status = open_library().TF_NewStatus()
        return self._status

    def __exit__(self, kind, *_):
        library = open_library()
        code, message = library.TF_GetCode(self._status), library.TF_Message(self._status)
        library.TF_DeleteStatus(self._status)
        if code and kind is None:
            raise ValueError(message.decode(errors="replace"))


def make_tensor(array, kept):
    """Return a TF_Tensor of a NumPy array: of a known type, or of object dtype with bytes.

    Args:
        array: the array.
        kept: list that the caller holds until the tensor is deleted; the tensor points to what is put in.
    """
    library = open_library()
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    if array.dtype == object:
        tensor = library.TF_AllocateTensor(STRING, dims, array.ndim, array.size * _STRING_SIZE)
        start = library.TF_TensorData(tensor) or 0
        for index, text in enumerate(array.flat):
            library.TF_StringInit(start + index * _STRING_SIZE)
            library.TF_StringAssignView(start + index * _STRING_SIZE, text, len(text))
            kept.append(text)
        return tensor
    code = next(code for code, kind in NUMPY_TYPES.items() if kind == array.dtype)
    tensor = library.TF_AllocateTensor(code, dims, array.ndim, array.nbytes)
    ctypes.memmove(library.TF_TensorData(tensor), np.ascontiguousarray(array).ctypes.data, array.nbytes)
    return tensor


def read_tensor(tensor):
    """Return a copy of a TF_Tensor as a NumPy array; strings as bytes in an array of object dtype."""
    library = open_library()
    shape = [library.TF_Dim(tensor, axis) for axis in range(library.TF_NumDims(tensor))]
    size, start, code = int(np.prod(shape)), library.TF_TensorData(tensor), library.TF_TensorType(tensor)
    if code == STRING:
        places = (start + index * _STRING_SIZE for index in range(size))
        texts = [
            ctypes.string_at(library.TF_StringGetDataPointer(place), library.TF_StringGetSize(place))
            for place in places
        ]
        array = np.empty(size, object)
        array[:] = texts
        return array.reshape(shape)
    kind = np.dtype(NUMPY_TYPES[code])
    return np.frombuffer(ctypes.string_at(start, size * kind.itemsize) if size else b"", kind).reshape(shape)


def _package_folder(name):
    spec = importlib.util.find_spec(name)  # Finds a package without importing it.
    if spec is None:
        raise ImportError(f"A SavedModel needs {name}. Install it with `pip install 'keras-kbert[tensorflow]'`.")
    return pathlib.Path(spec.submodule_search_locations[0])
