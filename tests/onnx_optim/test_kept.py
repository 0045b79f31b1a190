"""Tables that do not grow without end."""

from __future__ import annotations

from yobx.onnx_optim.kept import keep


def test_a_full_table_is_emptied_first() -> None:
    table: dict[int, str] = {}
    for i in range(10):
        assert keep(table, i, str(i), 4) == str(i)
        assert len(table) <= 4
    assert table == {8: "8", 9: "9"}
