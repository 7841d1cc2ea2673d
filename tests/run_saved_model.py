"""Run signatures of a SavedModel in a process that never imports Python's TensorFlow.

python tests/run_saved_model.py FOLDER < requests, a pickled list of (signature, inputs); the answers are pickled too.
"""

import ctypes
import pickle
import sys

import numpy as np

from kbert.serving.c_library import open_library
from kbert.serving.session import SavedModelSession
from kbert.serving.wire import fields_by_number


def core_ops():
    """Return the names of the ops that the library knows by itself."""
    buffer = open_library().TF_GetAllOpList()
    definitions = fields_by_number(ctypes.string_at(buffer.contents.data, buffer.contents.length))[1]
    return {fields_by_number(definition)[1][0].decode() for definition in definitions}


def to_arrays(inputs):
    arrays = {}
    for name, values in inputs.items():
        is_text = isinstance(values, list)
        arrays[name] = np.empty(len(values), object) if is_text else values
        if is_text:
            arrays[name][:] = values
    return arrays


def main():
    ops = core_ops()
    session = SavedModelSession(sys.argv[1])
    answers = []
    for signature, inputs in pickle.load(sys.stdin.buffer):
        try:
            answers.append(session.run(signature, to_arrays(inputs)))
        except ValueError as error:
            answers.append(str(error))
    shapes = {
        name: [{key: info.shape for key, info in side.items()} for side in (signature.inputs, signature.outputs)]
        for name, signature in session.signatures.items()
    }
    session.close()
    imported = {name.partition(".")[0] for name in sys.modules}
    pickle.dump({"ops": ops, "shapes": shapes, "answers": answers, "imported": imported}, sys.stdout.buffer)


if __name__ == "__main__":
    main()
