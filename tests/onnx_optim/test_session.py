"""Names of new symbols."""

from __future__ import annotations

from yobx.onnx_optim import ShapesContext
from yobx.onnx_optim.session import Session


def test_a_name_freed_is_given_again_and_a_reserved_one_never() -> None:
    session = Session()
    session.reserve(["size_2"])
    assert str(session.new_symbol("size")) == "size"
    context = ShapesContext(session=session)
    mark = session.checkpoint()
    assert str(context.fresh_symbol("size")) == "size_3"
    assert str(context.fresh_symbol("size")) == "size_4"
    session.rollback(mark, keep=("size_4",))
    assert str(context.fresh_symbol("size")) == "size_3"
    assert str(context.fresh_symbol("size")) == "size_5"


def test_many_symbols_of_one_name_are_counted_not_searched() -> None:
    session = Session()

    class Counting(set[str]):
        looked_up = 0

        def __contains__(self, name: object) -> bool:
            Counting.looked_up += 1
            return super().__contains__(name)

    session._taken = Counting()
    names = {str(session.new_symbol("size")) for _ in range(500)}
    assert len(names) == 500
    assert Counting.looked_up <= 1000
