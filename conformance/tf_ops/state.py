"""Variables, tables, tensor lists, ragged tensors and stateful control flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case
from yobx.tensorflow.ops._complex import COMPLEX
from yobx.tensorflow.ops._op import ALL

X = Arg("float32", ("n", 3))
ROWS = Arg("float32", (4, "n"))
PICKS = Arg("int32", ("n",), 0, 4)
VARIABLE = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3))
RAGGED = tf.ragged.constant([[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0]])
PHRASES = tf.RaggedTensor.from_row_splits([["a", "b"], ["c", "d"], ["", "e"]], [0, 1, 1, 3, 3])
TABLE = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer([3, 5, 7], ["a", "b", "c"], tf.int64, tf.string), "?"
)


def reference(op_type: str, dtype: str) -> Any:
    """Rows of a variable of TensorFlow 1, which another function has written."""
    kind = tf.as_dtype(dtype)
    numbers = np.arange(4) if dtype == "string" else np.arange(12).reshape(4, 3)
    value = tf.as_string(numbers) if dtype == "string" else tf.cast(numbers % 5, kind)

    def variable() -> Any:
        create = getattr(tf.raw_ops, op_type)
        return create(shape=value.shape, dtype=kind, shared_name=f"conformance/{op_type}/{dtype}")

    def fill() -> Any:
        return tf.raw_ops.Shape(input=tf.raw_ops.Assign(ref=variable(), value=value))

    def read(i: Any) -> Any:
        rows = tf.gather(tf.identity(variable()), i)
        return (tf.math.real(rows), tf.math.imag(rows)) if kind.is_complex else rows

    tf.function(fill, autograph=False)()
    return tf.function(read, autograph=False)


def stateful_while(x: Any) -> Any:
    """A body that reads a variable makes TensorFlow write the stateful form."""
    return tf.while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y + VARIABLE.read_value()[0]), [0, x]
    )[1]


def stateful_case(x: Any) -> Any:
    """Branches of which one reads a variable."""
    branches = [lambda: x + VARIABLE.read_value()[0], lambda: x * 2.0, lambda: x - 1.0]
    return tf.switch_case(tf.shape(x)[0] % 3, branches)


def exported(x: Any) -> Any:
    """Keys and values of a table, in the order of the keys."""
    keys, values = TABLE.export()
    order = tf.argsort(keys)
    return tf.gather(keys, order), tf.gather(values, order), x


def listed(x: Any) -> Any:
    """Return a list of the rows."""
    return tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[-1])


def resized(x: Any) -> Any:
    """How long a list is once it was made longer."""
    items = tf.raw_ops.TensorListResize(input_handle=listed(x), size=6)
    return tf.raw_ops.TensorListLength(input_handle=items)


def element_shape(x: Any) -> Any:
    """The shape that a list says its elements have."""
    items = tf.raw_ops.TensorListFromTensor(tensor=tf.zeros([4, 3]) + x[0, 0], element_shape=[3])
    return tf.raw_ops.TensorListElementShape(input_handle=items, shape_type=tf.int32)


def stacked(items: Any) -> Any:
    """Return the elements of a list as one tensor."""
    return tf.raw_ops.TensorListStack(
        input_handle=items, element_shape=[-1], element_dtype=tf.float32
    )


def scattered(x: Any) -> Any:
    """A list whose elements are given out of order."""
    return stacked(
        tf.raw_ops.TensorListScatterV2(
            tensor=x, indices=[2, 0, 3, 1], element_shape=[-1], num_elements=4
        )
    )


def scattered_first_form(x: Any) -> Any:
    """The same with the operation of older graphs."""
    return stacked(tf.raw_ops.TensorListScatter(tensor=x, indices=[2, 0, 3, 1], element_shape=[-1]))


def split(x: Any) -> Any:
    """A list of two parts of a tensor."""
    items = tf.raw_ops.TensorListSplit(tensor=x, element_shape=[2, -1], lengths=[2, 2])
    return tf.raw_ops.TensorListStack(
        input_handle=items, element_shape=[2, -1], element_dtype=tf.float32
    )


def joined(x: Any) -> Any:
    """A list whose elements are joined."""
    items = tf.raw_ops.TensorListFromTensor(tensor=x[:, tf.newaxis], element_shape=[1, 3])
    return tf.raw_ops.TensorListConcat(
        input_handle=items, element_dtype=tf.float32, element_shape=[None, 3]
    )


CASES = [
    Case("read_variable", lambda x: x + VARIABLE[:1], (X,), bindings=EMPTY),
    *(
        Case(f"reference_{op_type}_{dtype}", reference(op_type, dtype), (PICKS,), bindings=EMPTY)
        for op_type in ("Variable", "VariableV2")
        for dtype in (*ALL, *COMPLEX)
    ),
    Case("variable_shape", lambda x: x + tf.cast(tf.shape(VARIABLE)[0], tf.float32), (X,)),
    Case("variable_shape_op", lambda x: (x + VARIABLE[:1],
         tf.raw_ops.VariableShape(input=VARIABLE.handle)), (X,)),
    Case("resource_gather", lambda i: tf.gather(VARIABLE, i), (PICKS,), bindings=EMPTY),
    Case("resource_gather_batch", lambda i: tf.raw_ops.ResourceGather(resource=VARIABLE.handle,
         indices=i, dtype=tf.float32, batch_dims=1), (Arg("int32", (4, "n"), 0, 3),)),
    Case("resource_gather_nd", lambda i: VARIABLE.gather_nd(i[:, tf.newaxis]), (PICKS,)),
    Case("ragged_gather", lambda i: tf.gather(RAGGED, i).flat_values, (PICKS,), bindings=EMPTY),
    Case("ragged_gather_splits", lambda i: tf.gather(RAGGED, i).row_splits, (PICKS,)),
    Case("ragged_gather_words", lambda i: tf.gather(PHRASES, i).flat_values, (PICKS,)),
    Case("identity_n", lambda x, i: tf.raw_ops.IdentityN(input=[x, i]), (X, PICKS)),
    Case("stateful_while", stateful_while, (X,), bindings=EMPTY),
    Case("stateful_case", stateful_case, (X,)),
    Case("exported", exported, (X,)),
    Case("resized", resized, (ROWS,)),
    Case("element_shape", element_shape, (X,)),
    Case("scattered", scattered, (ROWS,)),
    Case("scattered_first_form", scattered_first_form, (ROWS,)),
    Case("split", split, (ROWS,)),
    Case("joined", joined, (X,)),
]  # fmt: skip


def cases() -> list[Case]:
    """Return the cases of this module."""
    return CASES
