"""Checkpoints of the hubs, fetched by each hub's own library or found in its cache."""

import importlib
import pathlib


def is_handle(source):
    """Tell whether a source is "hf://OWNER/NAME" or "kaggle://OWNER/MODEL/FRAMEWORK/NAME"."""
    return source.startswith(tuple(_FETCH))


def fetch(handle):
    """Return the local folder of a handle.

    Raises:
        ImportError: the hub's library is not installed.
        ConnectionError: the hub has no such model, refuses it, or is out of reach, and the cache does not hold it.
    """
    scheme = next(scheme for scheme in _FETCH if handle.startswith(scheme))
    package, fetch_with = _FETCH[scheme]
    try:
        library = importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{package} must be installed to fetch {handle}. Install it with `pip install 'keras-kbert[hub]'`."
        ) from error
    try:
        return pathlib.Path(fetch_with(library, handle.removeprefix(scheme)))
    except Exception as error:  # Each library raises kinds of its own, and those of the HTTP client below it.
        reason = (str(error).splitlines() or [""])[0]
        raise ConnectionError(
            f"A handle must be in the hub's cache or within reach. Received: {handle}: {type(error).__name__}: "
            f"{reason}. Check the name, the network, and for a closed model the hub's login."
        ) from error


def _fetch_from_hugging_face(huggingface_hub, name):
    small = ["*.json", "*.txt", "bert_model.ckpt*"]
    folder = huggingface_hub.snapshot_download(name, allow_patterns=[*small, "*.safetensors", "*.weights.h5"])
    if not [path for path in pathlib.Path(folder).rglob("*") if path.suffix in (".safetensors", ".h5", ".index")]:
        # Older repositories have the pickled file only; newer ones both, and one is enough.
        folder = huggingface_hub.snapshot_download(name, allow_patterns=[*small, "pytorch_model*.bin"])
    return folder


def _fetch_from_kaggle(kagglehub, handle):
    return kagglehub.model_download(handle)


# The start of a handle -> the package that fetches, and how.
_FETCH = {
    "hf://": ("huggingface_hub", _fetch_from_hugging_face),
    "kaggle://": ("kagglehub", _fetch_from_kaggle),
}
