"""Small models as engines meet them: name, text, what must be known, values of the symbols.

A text without header is of opset 20. Integer inputs are given with the bindings; all others are
float tensors made to fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Dims = list[int | str] | None


@dataclass(frozen=True)
class Case:
    """One model.

    Attributes:
        name: What it is about.
        text: The model.
        expected: Sizes by value; ``None`` for an unknown rank, ``"?"`` for a size that data decide.
        sizes: Values of the symbols of the inputs, one run each.
        feeds: Contents of integer inputs.
    """

    name: str
    text: str
    expected: dict[str, Dims]
    sizes: list[dict[str, int]]
    feeds: dict[str, Any] = field(default_factory=dict)


def n_is(*values: int) -> list[dict[str, int]]:
    """Runs with these values of `n`."""
    return [{"n": value} for value in values]


def nm(*pairs: tuple[int, int]) -> list[dict[str, int]]:
    """Runs with these values of `n` and `m`."""
    return [{"n": n, "m": m} for n, m in pairs]


N = n_is(0, 1, 2, 5, 6)
NM = nm((0, 1), (1, 1), (2, 3), (5, 4))
SIZE = "s = Shape (x)  i0 = Constant <value_ints = [0]> ()  d = Gather (s, i0)"
SCALAR = "s = Shape (x)  z = Constant <value_int = 0> ()  d = Gather (s, z)"
TWO = "two = Constant <value_ints = [2]> ()"


def on_size(op: str) -> str:
    """A tensor whose size is computed from `n` and 2."""
    return f"g (float[n, 4] x) => (y) {{ {SIZE} {TWO} t = {op} (d, two) y = ConstantOfShape (t) }}"


SHAPE_ARITHMETIC = [
    Case("add", on_size("Add"), {"y": ["n + 2"]}, N),
    Case("multiply", on_size("Mul"), {"y": ["2*n"]}, N),
    Case("divide", on_size("Div"), {"y": ["n//2"]}, N),
    Case("remainder", on_size("Mod"), {"y": ["n % 2"]}, N),
    Case("minimum", on_size("Min"), {"y": ["min(n, 2)"]}, N),
    Case("maximum", on_size("Max"), {"y": ["max(n, 2)"]}, N),
    Case(
        "absolute of negative",
        f"g (float[n, 4] x) => (y) {{ {SIZE} k = Neg (d) t = Abs (k) y = ConstantOfShape (t) }}",
        {"y": ["n"]},
        N,
    ),
    Case(
        "cast there and back",
        f"""g (float[n, 4] x) => (y) {{
            {SIZE} a = Cast <to = 6> (d) t = Cast <to = 7> (a) y = ConstantOfShape (t) }}""",
        {"y": ["n"]},
        N,
    ),
    Case(
        "product of all sizes",
        "g (float[n, m, 4] x) => (y) { s = Shape (x) t = ReduceProd (s) y = ConstantOfShape (t) }",
        {"y": ["4*m*n"]},
        NM,
    ),
    Case(
        "number of elements",
        """g (float[n, m] x) => (y) {
            s = Size (x) one = Constant <value_ints = [1]> () t = Reshape (s, one)
            y = ConstantOfShape (t) }""",
        {"y": ["m*n"]},
        NM,
    ),
    Case(
        "a part of a shape",
        """g (float[n, m, 4] x) => (y) {
            s = Shape <start = 1> (x) y = ConstantOfShape (s) }""",
        {"y": ["m", 4]},
        NM,
    ),
    Case(
        "a shape turned round",
        """g (float[n, m, 4] x) => (y) {
            s = Shape (x) a = Constant <value_ints = [-1]> ()
            e = Constant <value_ints = [-9223372036854775807]> () z = Constant <value_ints = [0]> ()
            t = Slice (s, a, e, z, a) y = ConstantOfShape (t) }""",
        {"y": [4, "m", "n"]},
        NM,
    ),
    Case(
        "a shape split and joined",
        """g (float[n, m, 4] x) => (y) {
            s = Shape (x) k = Constant <value_ints = [1, 2]> () a, b = Split <axis = 0> (s, k)
            t = Concat <axis = 0> (b, a) y = ConstantOfShape (t) }""",
        {"y": ["m", 4, "n"]},
        NM,
    ),
    Case(
        "halves that are doubled again",
        f"""g (float[n, 4] x) => (y) {{
            {SIZE} {TWO} h = Div (d, two) t = Mul (h, two) y = ConstantOfShape (t) }}""",
        {"y": ["2*(n//2)"]},
        N,
    ),
    Case(
        "rounded up",
        f"""g (float[n, 4] x) => (y) {{
            {SIZE} {TWO} one = Constant <value_ints = [1]> () a = Add (d, one) t = Div (a, two)
            y = ConstantOfShape (t) }}""",
        {"y": ["-(-n//2)"]},
        N,
    ),
    Case(
        "a table of sizes",
        """g (float[n, m] x) => (y) {
            s = Shape (x) a = Constant <value_ints = [0]> () u = Unsqueeze (s, a)
            k = Constant <value_ints = [2, 1]> () r = Tile (u, k)
            f = Constant <value_ints = [-1]> () t = Reshape (r, f) y = ConstantOfShape (t) }""",
        {"y": ["n", "m", "n", "m"]},
        NM,
    ),
]

MOVING = [
    Case(
        "flattened with a wildcard",
        """g (float[n, m, 4] x) => (y) {
            k = Constant <value_ints = [0, -1]> () y = Reshape (x, k) }""",
        {"y": ["n", "4*m"]},
        nm((1, 1), (2, 3), (5, 4)),
    ),
    Case(
        "heads of attention",
        f"""g (float[n, m, 64] x) => (y) {{
            {SIZE} i1 = Constant <value_ints = [1]> () e = Gather (s, i1)
            h = Constant <value_ints = [8, 8]> () t = Concat <axis = 0> (d, e, h)
            r = Reshape (x, t) y = Transpose <perm = [0, 2, 1, 3]> (r) }}""",
        {"y": ["n", 8, "m", 8]},
        NM,
    ),
    Case(
        "expanded to the shape of another",
        "g (float[n, 1] x, float[n, m] w) => (y) { s = Shape (w) y = Expand (x, s) }",
        {"y": ["n", "m"]},
        NM,
    ),
    Case(
        "tiled",
        "g (float[n, 2] x) => (y) { k = Constant <value_ints = [3, 2]> () y = Tile (x, k) }",
        {"y": ["3*n", 4]},
        N,
    ),
    Case(
        "padded",
        "g (float[n, 2] x) => (y) { k = Constant <value_ints = [1, 0, 2, 3]> () y = Pad (x, k) }",
        {"y": ["n + 3", 5]},
        N,
    ),
    Case(
        "the last three",
        """g (float[n, 2] x) => (y) {
            a = Constant <value_ints = [-3]> () e = Constant <value_ints = [9223372036854775807]> ()
            z = Constant <value_ints = [0]> () y = Slice (x, a, e, z) }""",
        {"y": ["min(n, 3)", 2]},
        N,
    ),
    Case(
        "without the last",
        """g (float[n, 2] x) => (y) {
            a = Constant <value_ints = [0]> () e = Constant <value_ints = [-1]> ()
            y = Slice (x, a, e, a) }""",
        {"y": ["max(n - 1, 0)", 2]},
        N,
    ),
    Case(
        "every other one",
        """g (float[n, 2] x) => (y) {
            a = Constant <value_ints = [0]> () e = Constant <value_ints = [9223372036854775807]> ()
            k = Constant <value_ints = [2]> () y = Slice (x, a, e, a, k) }""",
        {"y": ["-(-n//2)", 2]},
        N,
    ),
    Case(
        "cut to the size of another",
        """g (float[n, 2] x, float[m, 2] w) => (y) {
            s = Shape (w) a = Constant <value_ints = [0]> () e = Gather (s, a)
            y = Slice (x, a, e, a) }""",
        {"y": ["min(m, n)", 2]},
        NM,
    ),
    Case(
        "two halves",
        "g (float[n, 6] x) => (y, w) { y, w = Split <axis = 1, num_outputs = 2> (x) }",
        {"y": ["n", 3], "w": ["n", 3]},
        N,
    ),
    Case(
        "joined and joined again",
        """g (float[n, 2] x, float[m, 2] w) => (y) {
            a = Concat <axis = 0> (x, w) y = Concat <axis = 0> (a, x) }""",
        {"y": ["m + 2*n", 2]},
        NM,
    ),
    Case(
        "a cache that grows",
        """g (float[1, 2, m, 8] past, float[1, 2, n, 8] x) => (y) {
            y = Concat <axis = 2> (past, x) }""",
        {"y": [1, 2, "m + n", 8]},
        NM,
    ),
    Case(
        "one number per place",
        """g (float[n, 2] x) => (y) {
            k = Constant <value_int = 7> () v = Constant <value_floats = [0.0, 1.0]> ()
            i = Cast <to = 7> (x) y = OneHot (i, k, v) }""",
        {"y": ["n", 2, 7]},
        N,
    ),
    Case(
        "rows by places",
        "g (float[9, 4] x, int64[k] i) => (y) { y = Gather (x, i) }",
        {"y": ["k", 4]},
        [{"k": 3}],
        {"i": [0, 5, 2]},
    ),
    Case(
        "the greatest by constant count",
        "g (float[n, 9] x) => (y, i) { k = Constant <value_ints = [3]> () y, i = TopK (x, k) }",
        {"y": ["n", 3], "i": ["n", 3]},
        N,
    ),
    Case(
        "numbers up to a size",
        f"""g (float[n, 4] x) => (y) {{
            {SCALAR} k = Constant <value_int = 2> () y = Range (z, d, k) }}""",
        {"y": ["-(-n//2)"]},
        N,
    ),
]

TENSORS = [
    Case(
        "two sizes that broadcast",
        "g (float[n, 2] x, float[m, 2] w) => (y) { y = Add (x, w) }",
        {"y": ["max(m, n)*min(m, n, 1)", 2]},
        nm((1, 4), (4, 1), (4, 4), (0, 1), (1, 0)),
    ),
    Case(
        "a size that broadcasts with a number",
        "g (float[n, 2] x, float[5, 2] w) => (y) { y = Mul (x, w) }",
        {"y": [5, 2]},
        n_is(1, 5),
    ),
    Case(
        "equal sizes learnt from a product",
        """g (float[n, k] x, float[m, 3] w, float[k] v) => (y) {
            p = MatMul (x, w) y = Mul (v, v) }""",
        {"p": ["n", 3]},
        [{"n": 2, "m": 4, "k": 4}],
    ),
    Case(
        "a batch of products",
        "g (float[n, 1, 4, m] x, float[7, m, 5] w) => (y) { y = MatMul (x, w) }",
        {"y": ["n", 7, 4, 5]},
        NM,
    ),
    Case(
        "a window with stride",
        """g (float[n, 3, m, m] x, float[8, 3, 3, 3] w) => (y) {
            y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }""",
        {"y": ["n", 8, "(m + 1)//2", "(m + 1)//2"]},
        nm((1, 4), (2, 5), (1, 7)),
    ),
    Case(
        "windows that keep the size",
        """g (float[n, 3, m, m] x) => (y) {
            y = MaxPool <kernel_shape = [3, 3], auto_pad = "SAME_UPPER", strides = [2, 2]> (x) }""",
        {"y": ["n", 3, "-(-m//2)", "-(-m//2)"]},
        nm((1, 4), (2, 5)),
    ),
    Case(
        "sums over axes",
        """g (float[n, m, 4] x) => (y, w) {
            k = Constant <value_ints = [1]> () y = ReduceSum (x, k)
            w = ReduceMean <keepdims = 0> (x, k) }""",
        {"y": ["n", 1, 4], "w": ["n", 4]},
        nm((1, 1), (2, 3)),
    ),
    Case(
        "sizes scaled twice",
        """g (float[1, 1, n, m] x) => (y) {
            none = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () y = Resize (x, , none) }""",
        {"y": [1, 1, "2*n", "2*m"]},
        nm((1, 1), (2, 3)),
    ),
    Case(
        "a recurrent layer",
        """g (float[n, m, 3] x, float[1, 20, 3] w, float[1, 20, 5] r) => (y, h) {
            y, h = LSTM <hidden_size = 5> (x, w, r) }""",
        {"y": ["n", 1, "m", 5], "h": [1, "m", 5]},
        nm((1, 1), (2, 3)),
    ),
    Case(
        "letters",
        """g (float[n, m, 4] x, float[4, 5] w) => (y) {
            y = Einsum <equation = "bik,kj->bji"> (x, w) }""",
        {"y": ["n", 5, "m"]},
        nm((1, 1), (2, 3)),
    ),
    Case(
        "a size that data decide",
        "g (float[n, m] x) => (y) { y = NonZero (x) }",
        {"y": [2, "?"]},
        NM,
    ),
    Case(
        "rows that data choose",
        """g (float[n, m] x) => (y) {
            z = Constant <value_ints = [0]> () k = NonZero (x) i = Gather (k, z)
            t = Constant <value_ints = [-1]> () j = Reshape (i, t) y = Gather (x, j) }""",
        {"y": ["?", "m"]},
        nm((1, 1), (2, 3)),
    ),
    Case(
        "the exporter's expand",
        """g (float[n, 1] x) => (y) {
            k = Constant <value_ints = [-1, 7]> () m = Constant <value_ints = [-1]> ()
            e = Equal (k, m) o = Constant <value_ints = [1, 1]> () s = Where (e, o, k)
            y = Expand (x, s) }""",
        {"y": ["n", 7]},
        N,
    ),
    Case(
        "old slices",
        """<ir_version: 7, opset_import: ["" : 9]> g (float[n, 4] x) => (y) {
            y = Slice <starts = [1], ends = [3], axes = [0]> (x) }""",
        {"y": ["max(min(n, 3) - 1, 0)", 4]},
        N,
    ),
    Case(
        "old unsqueeze",
        """<ir_version: 7, opset_import: ["" : 11]> g (float[n, 4] x) => (y) {
            y = Unsqueeze <axes = [0, 3]> (x) }""",
        {"y": [1, "n", 4, 1]},
        N,
    ),
]

FLOW = [
    Case(
        "a loop that concatenates three times",
        """g (float[n, 4] x) => (y) {
            k = Constant <value_int = 3> ()
            y = Loop (k, "", x) <body = b (int64 i, bool c, float[?, 4] a) => (o, r) {
                o = Identity (c) r = Concat <axis = 0> (a, x) }> }""",
        {"y": ["4*n", 4]},
        N,
    ),
    Case(
        "a loop as long as the batch",
        f"""g (float[n, 4] x) => (y, w) {{
            {SCALAR}
            y, w = Loop (d, "", x) <body = b (int64 i, bool c, float[?, 4] a) => (o, r, t) {{
                o = Identity (c) r = Relu (a) t = Identity (i) }}> }}""",
        {"y": ["n", 4], "w": ["n"]},
        N,
    ),
    Case(
        "a loop that never runs",
        """g (float[n, 4] x) => (y) {
            k = Constant <value_int = 0> ()
            y = Loop (k, "", x) <body = b (int64 i, bool c, float[?, 4] a) => (o, r) {
                o = Identity (c) r = Concat <axis = 0> (a, x) }> }""",
        {"y": ["n", 4]},
        N,
    ),
    Case(
        "a loop that stops early",
        """g (float[n, 4] x) => (y, w) {
            k = Constant <value_int = 10> ()
            y, w = Loop (k, "", x) <body = b (int64 i, bool c, float[?, 4] a) => (o, r, t) {
                two = Constant <value_int = 2> () o = Less (i, two)
                r = Relu (a) t = Identity (i) }> }""",
        {"y": ["n", 4], "w": ["?"]},
        N,
    ),
    Case(
        "a loop that collects",
        f"""g (float[n, 4] x) => (y) {{
            {SCALAR} e = SequenceEmpty ()
            q = Loop (d, "", e) <body = b (int64 i, bool c, seq(float) a) => (o, r) {{
                o = Identity (c) r = SequenceInsert (a, x) }}>
            y = ConcatFromSequence <axis = 0, new_axis = 1> (q) }}""",
        {"y": ["n", "n", 4]},
        n_is(1, 2, 5),
    ),
    Case(
        "a scan",
        """g (float[n, 4] x) => (y, w) {
            z = Constant <value_floats = [0.0]> () f = Constant <value_ints = [4]> ()
            s = Expand (z, f)
            y, w = Scan <num_scan_inputs = 1, body = b (float[4] a, float[4] r) => (p, t) {
                p = Add (a, r) t = Concat <axis = 0> (p, r) }> (s, x) }""",
        {"y": [4], "w": ["n", 8]},
        n_is(1, 2, 5),
    ),
    Case(
        "branches that share a size",
        """g (float[n, 4] x, bool c) => (y) {
            y = If (c) <
                then_branch = t () => (a) { a = Relu (x) },
                else_branch = e () => (b) { b = Concat <axis = 1> (x, x) }> }""",
        {"y": ["n", "?"]},
        N,
        {"c": True},
    ),
    Case(
        "branches of different ranks",
        """g (float[n, 4] x, bool c) => (y) {
            z = Constant <value_ints = [0]> ()
            y = If (c) <
                then_branch = t () => (a) { a = Unsqueeze (x, z) },
                else_branch = e () => (b) { b = Relu (x) }> }""",
        {"y": None},
        N,
        {"c": True},
    ),
    Case(
        "one unknown branch",
        """g (float[n, 4] x, int64[k] s, bool c) => (y) {
            y = If (c) <
                then_branch = t () => (a) { a = Relu (x) },
                else_branch = e () => (b) { b = Reshape (x, s) }> }""",
        {"y": None},
        [{"n": 2, "k": 1}],
        {"c": False, "s": [8]},
    ),
    Case(
        "a known condition",
        """g (float[n, 4] x) => (y) {
            k = Constant <value_int = 2> () l = Constant <value_int = 3> () c = Less (k, l)
            y = If (c) <
                then_branch = t () => (a) { a = Concat <axis = 0> (x, x) },
                else_branch = e () => (b) { b = Relu (x) }> }""",
        {"y": ["2*n", 4]},
        N,
    ),
    Case(
        "an element of a sequence",
        """g (float[n, 4] x, float[m, 4] w) => (y, z) {
            s = SequenceConstruct (x, w) i = Constant <value_int = 1> ()
            y = SequenceAt (s, i) z = SequenceLength (s) }""",
        {"y": ["m", 4], "z": []},
        NM,
    ),
    Case(
        "a sequence joined",
        """g (float[n, 4] x, float[m, 4] w) => (y) {
            s = SequenceConstruct (x, w) e = SequenceInsert (s, x)
            y = ConcatFromSequence <axis = 0> (e) }""",
        {"y": ["m + 2*n", 4]},
        NM,
    ),
    Case(
        "rows as a sequence",
        """g (float[n, 4] x) => (y, z) {
            s = SplitToSequence <axis = 0, keepdims = 0> (x) z = SequenceLength (s)
            i = Constant <value_int = 0> () y = SequenceAt (s, i) }""",
        {"y": [4]},
        n_is(1, 2, 5),
    ),
    Case(
        "a graph per element",
        """g (float[n, 4] x, float[m, 4] w) => (y) {
            s = SequenceConstruct (x, w)
            t = SequenceMap (s) <body = b (float[?, 4] a) => (r) { r = Transpose (a) }>
            i = Constant <value_int = 0> () y = SequenceAt (t, i) }""",
        {"y": [4, "n"]},
        NM,
    ),
    Case(
        "something optional",
        """g (float[n, 4] x) => (y) {
            o = Optional (x) y = OptionalGetElement (o) }""",
        {"y": ["n", 4]},
        N,
    ),
    Case(
        "two calls of a function",
        """<ir_version: 10, opset_import: ["" : 20, "f" : 1]> g (float[n, m] x) => (y, w) {
            y = f.Places (x) t = Transpose (x) w = f.Places (t) }
        <domain: "f", opset_import: ["" : 20]> Places (a) => (b) { b = NonZero (a) }""",
        {"y": [2, "?"], "w": [2, "?"]},
        NM,
    ),
    Case(
        "a function with a default",
        """<ir_version: 10, opset_import: ["" : 20, "f" : 1]> g (float[n, m] x) => (y, w) {
            y = f.Join (x, x) w = f.Join <where = 0> (x, x) }
        <domain: "f", opset_import: ["" : 20]> Join <where : int = 1> (a, b) => (c) {
            c = Concat <axis : int = @where> (a, b) }""",
        {"y": ["n", "2*m"], "w": ["2*n", "m"]},
        NM,
    ),
]

CASES = [*SHAPE_ARITHMETIC, *MOVING, *TENSORS, *FLOW]
