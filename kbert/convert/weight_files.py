"""The tensors of a Hugging Face folder, whichever way they are stored."""

import json
import pathlib
import pickle

import safetensors
import safetensors.numpy

# In order of preference: the first that is there is read.
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def read_weights(folder):
    """Read every tensor of a checkpoint folder.

    Args:
        folder: holds one of `WEIGHT_FILES`; an index names the shards beside it.

    Returns:
        (dict of name to array, path of the file or index). The arrays are as stored, bfloat16 included; those of
        pytorch_model.bin are float32.

    Raises:
        FileNotFoundError: there is none, or a shard is missing.
        ValueError: a file is damaged, or holds something else than tensors.
        ImportError: the file is pytorch_model.bin, and PyTorch is not installed.
    """
    folder = pathlib.Path(folder)
    path = next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), None)
    if path is None:
        raise FileNotFoundError(
            f"A checkpoint folder must hold {WEIGHT_FILES[0]} (or {', '.join(WEIGHT_FILES[1:])}). Received: {folder}."
        )
    shards = _shards(path) if path.suffix == ".json" else [path]
    read = _read_safetensors if ".safetensors" in path.name else _read_pytorch
    return {name: value for shard in shards for name, value in read(shard).items()}, path


def _shards(index):
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"An index of shards must be JSON with a `weight_map`. Received: {index}: {error}.") from error
    absent = [name for name in names if not (index.parent / name).is_file()]
    if absent:
        raise FileNotFoundError(f"Every shard must lie beside its index. Received: {index} without {absent}.")
    return [index.parent / name for name in names]


def _read_safetensors(path):
    try:
        return safetensors.numpy.load_file(path)
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"A weight file must be whole. Received: {path}: {error}. Copy or download it again."
        ) from error


def _read_pytorch(path):
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"PyTorch must be installed to read {path}. Install it with `pip install 'keras-kbert[torch]'`, or convert "
            "the file to model.safetensors where it is."
        ) from error
    try:
        # weights_only: a .bin file is a pickle, and a pickle can run code; this loader takes tensors and nothing else.
        tensors = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor.float().numpy() for name, tensor in tensors.items()}
    except (OSError, RuntimeError, pickle.UnpicklingError, EOFError, AttributeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"A weight file must be whole and hold tensors only. Received: {path}: {reason}. Download it again, from a "
            "place you trust."
        ) from error
