from tests.passes.support import apply, parse
from yobx.passes.dead_code import remove_dead_code


def test_what_nothing_reads() -> None:
    before = parse(
        """g (float[n] x, float[m] unused) => (float[n] y)
        <float a = {1}, float b = {2}> {
            p = Mul (x, a)
            q = Neg (p)
            y = Add (x, b)
        }"""
    )
    after = apply(before, remove_dead_code)
    assert [n.op_type for n in after.graph.node] == ["Add"]
    assert [t.name for t in after.graph.initializer] == ["b"]
    assert [i.name for i in after.graph.input] == ["x", "unused"]


def test_what_a_branch_reads_stays() -> None:
    before = parse(
        """g (float[n] x, bool b) => (float[n] y) <float a = {1}> {
            p = Mul (x, a)
            y = If (b) <then_branch = t () => (float[n] r) { r = Neg (p) },
                        else_branch = e () => (float[n] r) { r = Abs (p) }>
        }"""
    )
    assert len(apply(before, remove_dead_code).graph.node) == 2


def test_optional_outputs_and_inputs() -> None:
    before = parse(
        """g (float[1, 2, 4, 4] x) => (float[1, 2, 2, 2] y) {
            c = Clip (x, , )
            y, where = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
        }"""
    )
    clip, pool = apply(before, remove_dead_code).graph.node
    assert (list(clip.input), list(pool.output)) == (["x"], ["y"])


def test_inside_a_branch() -> None:
    before = parse(
        """g (float[n] x, bool b) => (float[n] y) <float a = {1}> {
            p = Mul (x, a)
            y = If (b) <then_branch = t () => (float[n] r) { q = Neg (p) r = Neg (x) },
                        else_branch = e () => (float[n] r) { r = Abs (x) }>
        }"""
    )
    (branching,) = apply(before, remove_dead_code).graph.node
    then_branch = next(a.g for a in branching.attribute if a.name == "then_branch")
    assert [n.op_type for n in then_branch.node] == ["Neg"]
