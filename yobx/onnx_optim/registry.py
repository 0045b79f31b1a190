"""The registry of shape rules: by domain and operator, each from an opset version on."""

from __future__ import annotations

import importlib
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx

from yobx.errors import ArgumentError
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.shapes import MODULES

if TYPE_CHECKING:
    from yobx.onnx_optim.node_view import NodeView

__all__ = [
    "Registry",
    "ShapeFunction",
    "ShapeRule",
    "load_rules",
    "operators_without_rule",
    "register_shape_function",
    "shared_registry",
]

RuleResult: TypeAlias = "Descriptor | Sequence[Descriptor | None]"
Steps: TypeAlias = "Generator[Generator[Any, Any, Any], Any, RuleResult]"
ShapeRule: TypeAlias = "Callable[[NodeView], RuleResult | Steps]"


@dataclass(frozen=True, slots=True)
class ShapeFunction:
    """One registered rule.

    Attributes:
        domain: Operator domain, ``""`` for the default one.
        op_type: Operator name.
        since_version: First opset version the rule is for.
        function: The rule.
    """

    domain: str
    op_type: str
    since_version: int
    function: ShapeRule


def normal_domain(domain: str) -> str:
    """The default domain has two spellings; this is the short one."""
    return "" if domain == "ai.onnx" else domain


class Registry:
    """Shape rules, found by domain, operator and opset version.

    Args:
        sources: Groups of modules that register rules here; each group is imported when an operator
            is asked for that the groups before it do not know.

    Attributes:
        memo: What the rules gave, by opsets, then by operator, attributes and inputs. Rules are
            pure, so that all models share it; it is forgotten when a rule is added.
    """

    def __init__(self, sources: Sequence[Sequence[str]] = ()) -> None:
        self._rules: dict[tuple[str, str], list[ShapeFunction]] = {}
        self._sources = list(sources)
        self.memo: dict[Any, dict[Any, Any]] = {}

    def load(self) -> None:
        """Import all modules that register rules here."""
        while self._sources:
            self._load_next()

    def _load_next(self) -> None:
        for module in self._sources.pop(0):
            importlib.import_module(module)

    def register(
        self,
        domain: str,
        op_type: str | tuple[str, ...],
        since_version: int,
        function: ShapeRule,
        *,
        replace: bool = False,
    ) -> None:
        """Add a rule for one or several operators.

        Raises:
            ArgumentError: A rule exists for that operator and version and ``replace`` is false.
        """
        for name in (op_type,) if isinstance(op_type, str) else op_type:
            rule = ShapeFunction(normal_domain(domain), name, since_version, function)
            known = self._rules.setdefault((rule.domain, name), [])
            same = [r for r in known if r.since_version == since_version]
            if same and not replace:
                where = getattr(same[0].function, "__module__", "?")
                raise ArgumentError(
                    "One shape rule exists for each operator and version. Received: a second one "
                    f"for {rule.domain or 'ai.onnx'}:{name} since {since_version}; the first is in "
                    f"{where}.",
                    argument="op_type",
                    hint="Try replace=True.",
                )
            for rule_to_drop in same:
                known.remove(rule_to_drop)
            known.append(rule)
            known.sort(key=lambda r: r.since_version)
        for table in self.memo.values():
            table.clear()

    def find(self, domain: str, op_type: str, version: int) -> ShapeFunction | None:
        """The newest rule that is not newer than ``version``, or ``None``."""
        key = (normal_domain(domain), op_type)
        known = self._rules.get(key)
        while not known and self._sources:
            self._load_next()
            known = self._rules.get(key)
        if not known:
            return None
        index = bisect_right(known, version, key=lambda r: r.since_version)
        return known[index - 1] if index else None

    def __iter__(self) -> Iterator[ShapeFunction]:
        self.load()
        for rules in self._rules.values():
            yield from rules

    def copy(self) -> Registry:
        """An independent registry with the same rules."""
        self.load()
        twin = Registry()
        twin._rules = {key: list(rules) for key, rules in self._rules.items()}
        return twin


_PACKAGE = "yobx.onnx_optim.shapes"
REGISTRY = Registry([[f"{_PACKAGE}.{name}" for name in group] for group in MODULES])


def shared_registry() -> Registry:
    """The registry that all inferences share; rarer rules are imported when they are needed."""
    return REGISTRY


def load_rules() -> Registry:
    """The shared registry, with all rules of yobx registered (the modules are read once)."""
    REGISTRY.load()
    return REGISTRY


def operators_without_rule() -> tuple[list[str], int]:
    """Operators of the installed onnx that have no rule of their own, and the number of all."""
    registry = load_rules()
    schemas = [schema for schema in onnx.defs.get_all_schemas() if not schema.deprecated]
    missing = [
        f"{schema.domain or 'ai.onnx'}::{schema.name}"
        for schema in schemas
        if registry.find(schema.domain, schema.name, schema.since_version) is None
    ]
    return sorted(missing), len(schemas)


def register_shape_function(
    domain: str, op_type: str | tuple[str, ...], since_version: int = 1, *, replace: bool = False
) -> Callable[[ShapeRule], ShapeRule]:
    """Register the decorated function as shape rule.

    Args:
        domain: Operator domain; ``""`` and ``"ai.onnx"`` are the same.
        op_type: Operator name, or several that share the rule.
        since_version: First opset version of the domain that the rule is for.
        replace: Allow to replace an existing rule.

    Returns:
        A decorator that returns the function unchanged.
    """

    def decorate(function: ShapeRule) -> ShapeRule:
        load_rules().register(domain, op_type, since_version, function, replace=replace)
        return function

    return decorate
