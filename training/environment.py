"""What a run runs on: the devices it may take, and the description written beside its results."""

import importlib.metadata
import pathlib
import platform
import subprocess

import keras
import tensorflow as tf

_PACKAGES = ("keras", "tensorflow", "jax", "torch", "numpy", "tokenizers", "keras-kbert")


def leave_gpus_to_backend():
    """Keep TensorFlow off the GPUs where it only reads the data: it would take all of their memory from the model."""
    if keras.backend.backend() != "tensorflow":
        tf.config.set_visible_devices([], "GPU")


def describe_environment():
    """Return a dict of backend, device, package versions, commit and machine."""
    return {
        "backend": keras.backend.backend(),
        # `keras.distribution.list_devices` fails on PyTorch; TensorFlow puts "/job:.../device:" before the name.
        "device": str(keras.ops.zeros(1).device).rsplit("device:", maxsplit=1)[-1],
        "versions": {name: _version(name) for name in _PACKAGES},
        "commit": _commit(),
        "machine": platform.platform(),
    }


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit():
    command = ["git", "describe", "--always", "--dirty"]
    folder = pathlib.Path(__file__).parent
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
