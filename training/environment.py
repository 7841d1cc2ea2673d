"""What a run ran on: written beside its results."""

import importlib.metadata
import platform
import subprocess

import keras

_PACKAGES = ("keras", "tensorflow", "jax", "torch", "numpy", "tokenizers", "keras-kbert")


def describe_environment():
    """Return a dict of backend, package versions, commit, machine and device."""
    return {
        "backend": keras.backend.backend(),
        "versions": {name: _version(name) for name in _PACKAGES},
        "commit": _commit(),
        "machine": platform.platform(),
        "devices": [str(device) for device in keras.distribution.list_devices()],
    }


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit():
    command = ["git", "describe", "--always", "--dirty"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
