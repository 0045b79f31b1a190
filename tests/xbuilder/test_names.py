import pytest

from yobx.errors import GraphError
from yobx.xbuilder.names import NameRegistry, ScopeStack


def test_unique_names_are_reserved() -> None:
    names = NameRegistry()
    assert [names.unique("a"), names.unique("a"), names.unique("a")] == ["a", "a_1", "a_2"]
    names.define("a_1")
    with pytest.raises(GraphError, match="defined once"):
        names.define("a_1")
    names.release("a_1")
    names.define("a_1")


def test_copy_is_independent() -> None:
    names = NameRegistry()
    names.define("a")
    other = names.copy()
    assert other.unique("a") == "a_1"
    assert names.unique("a") == "a_1"


def test_scopes_hide_and_end() -> None:
    scopes = ScopeStack()
    scopes.bind("x", "outer")
    with scopes.open("f"):
        assert scopes.lookup("x") == "outer"
        scopes.bind("x", "inner")
        assert scopes.lookup("x") == "inner"
        assert scopes.prefix == "f/"
        with scopes.open("g"):
            assert scopes.prefix == "f/g/"
        with pytest.raises(GraphError, match="bound once"):
            scopes.bind("x", "third")
    assert scopes.lookup("x") == "outer"
    assert scopes.is_outermost
