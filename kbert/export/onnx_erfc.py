"""How tf2onnx is to write `Erfc`, the op of TensorFlow's exact gelu that it does not know: as 1 - Erf."""

import numpy as np
from tf2onnx.handler import tf_op


@tf_op("Erfc")
class Erfc:
    """Registered as this file is imported."""

    @classmethod
    def version_9(cls, context, node, **_):
        """Replace a node, from ONNX' operator set 9 on."""
        shapes, dtypes = node.output_shapes, node.output_dtypes
        context.remove_node(node.name)
        erf = context.make_node("Erf", [node.input[0]], shapes=shapes, dtypes=dtypes)
        one = context.make_const(f"{node.name}/one", np.array(1, "float32")).output[0]
        context.make_node(
            "Sub", [one, erf.output[0]], name=node.name, outputs=node.output, shapes=shapes, dtypes=dtypes
        )
