"""Several devices, or several machines, train one model: each device holds all weights and takes a share of each batch.

What is computed is what one device would compute: same rows in a batch, same loss over all of its masked words, same
clipping, one update; only the order of floating-point sums differs. So a run may go on with another number of devices.

- JAX: `keras.distribution.DataParallel`, in one process or several. Several are started as Keras says, with the
  environment variables KERAS_DISTRIBUTION_JOB_ADDRESSES, KERAS_DISTRIBUTION_NUM_PROCESSES and
  KERAS_DISTRIBUTION_PROCESS_ID, the same command in each. Each reads its own rows; the first writes all files.
- TensorFlow: `tf.distribute.MirroredStrategy`, in one process.

On a machine without GPUs the devices are parts of the CPU: no faster, but a way to try a layout.
"""

import contextlib
import dataclasses
import os
import pathlib
import sys
import zlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from training import replicas
from training.state import ReseedDropout

NUM_PROCESSES = "KERAS_DISTRIBUTION_NUM_PROCESSES"
# They change no file. The others write, and only the first process may.
ON_EVERY_PROCESS = (ReseedDropout, keras.callbacks.TerminateOnNaN)


@dataclasses.dataclass(frozen=True)
class Devices:
    """The devices of a run, as one of its processes sees them.

    Attributes:
        count: int, devices that share each batch, in all processes together.
        num_processes: int.
        process_id: int in [0, num_processes). Process 0 writes the files.
        strategy: `tf.distribute.Strategy`, or None.
    """

    count: int = 1
    num_processes: int = 1
    process_id: int = 0
    strategy: Any = None

    @property
    def writes(self):
        """Whether this process is the one that writes files."""
        return self.process_id == 0

    @property
    def own_rows(self):
        """What `kbert.data.pipelines.pretraining_dataset` must know to read this process's rows of each batch."""
        return {"num_processes": self.num_processes, "process_id": self.process_id}

    def scope(self):
        """Return the context in which the model must be built, compiled and restored."""
        return contextlib.nullcontext() if self.strategy is None else self.strategy.scope()

    def optimizer_class(self, optimizer_class):
        """Return the class of optimizer to train with, for that of one device."""
        return optimizer_class if self.strategy is None else replicas.summed_before_clipping(optimizer_class)

    def losses(self, names):
        """Return the losses to compile with, by output name; None for the model's own."""
        return None if self.strategy is None else {name: replicas.MeanOverReplicas() for name in names}

    def own_held_out(self, batches, batch_size):
        """Keep this process's rows of each held-out batch; the last one is filled up with rows of weight 0.

        Every device needs equally many rows. The filling changes no sum over words or pairs; but where Keras averages
        the losses of batches by their rows, the last batch counts as a full one.

        Args:
            batches: `tf.data.Dataset` of (inputs, targets, weights) with at most `batch_size` rows.
            batch_size: int, rows of a batch of all processes.
        """
        if self.count == 1:
            return batches
        rows = batch_size // self.num_processes
        first = self.process_id * rows

        def own(tensor):
            filling = [[0, batch_size - tf.shape(tensor)[0]], *[[0, 0]] * (tensor.shape.rank - 1)]
            return tf.ensure_shape(tf.pad(tensor, filling)[first : first + rows], [rows, *tensor.shape[1:]])

        return batches.map(lambda *batch: tf.nest.map_structure(own, batch))

    def callbacks(self, callbacks):
        """Return those of a run's callbacks that this process needs."""
        everywhere = [callback for callback in callbacks if isinstance(callback, ON_EVERY_PROCESS)]
        if self.strategy is not None:
            everywhere.append(replicas.SpreadDropout())
        writing = [callback for callback in callbacks if callback not in everywhere]
        if self.num_processes == 1:
            return everywhere + writing
        alone = [WriteAlone(), *writing] if self.writes else []
        return [*everywhere, *alone, FollowFirst(self.process_id, keras.distribution.distribution())]

    def check_agreement(self, *values):
        """Refuse to start, in all processes, if they were not given the same.

        Raises:
            ValueError: the `repr` of `values` differs between processes.
        """
        if self.num_processes == 1:
            return
        from jax.experimental import multihost_utils

        # Not a comparison with the first alone: it would wait for the others, and they, on leaving, for it.
        found = multihost_utils.process_allgather(np.uint32(zlib.crc32(repr(values).encode())))
        if len(set(found.tolist())) > 1:
            raise ValueError(
                "All processes must start from the same settings, shards and saved state. Received: different ones, in "
                f"process {self.process_id} {values}. Type the same command everywhere, with --output on a disk that "
                "all share."
            )


class WriteAlone(keras.callbacks.Callback):
    """Let the callbacks behind it work without the other processes when an epoch ends, until `FollowFirst`.

    Keras makes variables while it saves, and would wait for every process to make them.
    """

    def on_epoch_end(self, epoch, logs=None):
        keras.distribution.set_distribution(None)


class FollowFirst(keras.callbacks.Callback):
    """Let every process wait until the first one has saved, and end if that one ended. Belongs last in the list.

    Args:
        process_id: int, this process.
        distribution: `keras.distribution.Distribution`, in force again from here on.
    """

    def __init__(self, process_id, distribution):
        super().__init__()
        self.process_id = process_id
        self.distribution = distribution

    def on_epoch_end(self, epoch, logs=None):
        keras.distribution.set_distribution(self.distribution)
        from jax.experimental import multihost_utils

        stop = multihost_utils.broadcast_one_to_all(np.int32(self.model.stop_training))
        if stop and self.process_id:
            raise SystemExit("The first process stopped the run, and says why.")


def open_devices(settings):
    """Make the devices ready that `--devices` asks for. Comes before the first computation of a process.

    Args:
        settings: `training.pretrain_settings.Settings`.
    Returns:
        `Devices`.
    Raises:
        ValueError: there are not so many, they cannot share a batch evenly, or the backend cannot use them.
    """
    num_processes = int(os.environ.get(NUM_PROCESSES, 1))
    if settings.devices == num_processes == 1:
        return Devices()
    backend = keras.backend.backend()
    _check(settings, backend, num_processes)
    return {"jax": _open_jax, "tensorflow": _open_tensorflow}[backend](settings, num_processes)


def _check(settings, backend, num_processes):
    received = f"Received: --devices {settings.devices}"
    if backend == "torch":
        raise ValueError(
            f"--devices must be 1 on PyTorch, for which Keras {keras.__version__} has no distribution. {received}. "
            "Set KERAS_BACKEND=jax, for devices of one machine or several, or KERAS_BACKEND=tensorflow, for those of "
            "one: the checkpoint opens on every backend."
        )
    if settings.devices < 1 or settings.devices % num_processes:
        raise ValueError(
            f"--devices must be a multiple of the number of processes, at least 1. {received}, {num_processes} "
            f"processes ({NUM_PROCESSES})."
        )
    for name in ("batch_size", "long_batch_size"):
        rows = getattr(settings, name)
        if rows is not None and rows % settings.devices:
            raise ValueError(f"--{name} must be a multiple of --devices. {received} --{name} {rows}.")
    if settings.minutes is not None and num_processes > 1:
        raise ValueError(
            "Several processes must have their budget in --steps, --epochs or --tokens: each would measure another "
            f"speed. Received: --minutes {settings.minutes:g}, {num_processes} processes ({NUM_PROCESSES})."
        )
    if backend == "tensorflow":
        if num_processes > 1:
            raise ValueError(
                f"TensorFlow must train in one process: Keras {keras.__version__} knows several only on JAX. Received: "
                f"{num_processes} processes ({NUM_PROCESSES}). Set KERAS_BACKEND=jax."
            )
        if settings.accumulate > 1 or settings.precision == "mixed_float16":
            raise ValueError(
                "--devices on TensorFlow must go without --accumulate, whose conditional update tf.distribute refuses, "
                "and without mixed_float16, for which Keras looks for overflow on the first replica alone. "
                f"{received} --accumulate {settings.accumulate} --precision "
                f"{settings.precision}. Take mixed_bfloat16, or KERAS_BACKEND=jax."
            )


def _open_jax(settings, num_processes):
    import jax

    # Takes effect where there are no GPUs or TPUs. A backend that already runs, or XLA's own flag, has its say below.
    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", settings.devices // num_processes)
    if num_processes > 1:
        keras.distribution.initialize()
    names = keras.distribution.list_devices()
    _check_count(settings, names, exactly=num_processes > 1)
    # `pretraining_dataset` reads the rows of this process, before it parses and masks them.
    distribution = keras.distribution.DataParallel(devices=names[: settings.devices], auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)
    devices = Devices(settings.devices, jax.process_count(), jax.process_index())
    if not devices.writes:
        sys.stdout = pathlib.Path(os.devnull).open("w")  # All say the same. Errors go to stderr.
    return devices


def _open_tensorflow(settings, _):
    kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
    if kind == "CPU":
        with contextlib.suppress(RuntimeError):  # TensorFlow already runs: it has the devices it has.
            cpu = tf.config.list_physical_devices("CPU")[0]
            parts = [tf.config.LogicalDeviceConfiguration()] * settings.devices
            tf.config.set_logical_device_configuration(cpu, parts)
    names = [device.name for device in tf.config.list_logical_devices(kind)]
    _check_count(settings, names)
    return Devices(settings.devices, strategy=tf.distribute.MirroredStrategy(names[: settings.devices]))


def _check_count(settings, names, exactly=False):
    if len(names) < settings.devices or (exactly and len(names) != settings.devices):
        raise ValueError(
            f"--devices must be {'' if exactly else 'at most '}the number of devices that all processes have. "
            f"Received: --devices {settings.devices}, where there are {len(names)}: {', '.join(names)}."
        )
