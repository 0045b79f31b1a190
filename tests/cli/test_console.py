"""Plain lines where there is no terminal, tables and spinners where there is one."""

from __future__ import annotations

import io

from yobx.cli.console import Screen


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_table_without_a_terminal_is_tab_separated_and_never_cut() -> None:
    out = io.StringIO()
    Screen(out, io.StringIO()).table(["name", "type"], [["x" * 300, "[bold]float32[4]"]])
    assert out.getvalue() == "name\ttype\n" + "x" * 300 + "\t[bold]float32[4]\n"


def test_table_on_a_terminal_keeps_brackets() -> None:
    out = Terminal()
    Screen(out, io.StringIO()).table(["name", "type"], [["x", "float32[red]"]])
    assert "float32[red]" in out.getvalue()
    assert "name" in out.getvalue()


def test_stages_go_to_the_error_stream() -> None:
    out, err = io.StringIO(), io.StringIO()
    with Screen(out, err).stage("converting"):
        pass
    assert (out.getvalue(), err.getvalue()) == ("", "converting ...\n")


def test_quiet_leaves_out_stages_but_not_errors() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = Screen(out, err, quiet=True)
    with screen.stage("converting"):
        screen.note("nearly done")
    screen.error("no such file", "check the path")
    assert err.getvalue() == "error: no such file\nhint: check the path\n"


def test_stage_on_a_terminal_shows_its_text() -> None:
    err = Terminal()
    with Screen(io.StringIO(), err).stage("converting"):
        pass
    assert "converting" in err.getvalue()
