"""``ShapesContext``: everything known of the values of one graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import onnx

from yobx.errors import ArgumentError, ShapeError
from yobx.onnx_optim.constraints import Constraints
from yobx.onnx_optim.event_log import log_node, log_pair, log_value
from yobx.onnx_optim.events import ShapeEvent, ShapeEventAction
from yobx.onnx_optim.explain import Blame, Explanation, blame_of, explain
from yobx.onnx_optim.kept import keep
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor, OptimOptional, OptimSequence
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.registry import normal_domain
from yobx.onnx_optim.session import Origin, Session
from yobx.onnx_optim.upper_bounds import upper_bound

if TYPE_CHECKING:
    from yobx.onnx_optim.declared import Contradiction
    from yobx.onnx_optim.node_view import NodeView

__all__ = ["ShapesContext"]

_NEWEST_OF_DOMAIN = {"ai.onnx.ml": "TreeEnsemble"}
MAX_ORIGIN_OWNERS = 32
MAX_REMEMBERED = 20_000
CustomFunction = Callable[["ShapesContext", onnx.NodeProto], Any]


@cache
def newest_opset(domain: str) -> int:
    """The newest version of a domain that onnx knows, 1 for domains that it does not know."""
    if not domain:
        return int(onnx.defs.onnx_opset_version())
    newest = _NEWEST_OF_DOMAIN.get(domain)
    return 1 if newest is None else int(onnx.defs.get_schema(newest, domain=domain).since_version)


class ShapesContext:
    """Descriptors of the values of a graph, facts about dimensions, child contexts.

    A child looks names up in its parents instead of copying them. The context of a function body
    is isolated: it shares symbols and log with its caller, and sees no value of it.

    Args:
        opsets: Opset version by domain; the caller's when ``parent`` is given.
        parent: Enclosing context.
        isolated: The child is a function body: values of the parent are not visible.
    """

    def __init__(
        self,
        opsets: Mapping[str, int] | None = None,
        *,
        parent: ShapesContext | None = None,
        isolated: bool = False,
        session: Session | None = None,
    ) -> None:
        self.values: dict[str, Descriptor] = {}
        # So many of them, the first ones, are inputs and initializers.
        self.seeded: int = 0
        self.reasons: dict[str, str] = {}
        self.producers: dict[str, tuple[int, onnx.NodeProto]] = {}
        self.graph: onnx.GraphProto | onnx.FunctionProto | None = None
        self._owner: tuple[int, str] | None = None
        self.loop_depth: int = parent.loop_depth if parent else 0
        self.attribute_values: Mapping[str, onnx.AttributeProto] | None = None
        self.omitted: set[str] = set()
        self.unnamed_inputs: set[str] = set()
        self.captured: dict[str, Descriptor] = {}
        self.function_chain: tuple[tuple[str, str, str], ...] = ()
        self.session: Session = parent.session if parent else (session or Session())
        self.outer = None if isolated or parent is None else parent
        self.parent = parent
        self._subgraphs: dict[tuple[int, str], ShapesContext] = {}
        self._opsets: dict[str, int] = {}
        if self.outer is not None:
            self.attribute_values = self.outer.attribute_values
            self.function_chain = self.outer.function_chain
        inherited = parent._opsets if parent else {}
        self.set_opsets({**inherited, **(opsets or {})})
        self.constraints_store: Constraints = Constraints(
            parent.constraints_store if parent else None, self.session.is_generated
        )

    # -- opsets

    def set_opsets(self, opsets: Mapping[str, int]) -> None:
        """Set the opset versions of all domains."""
        self._opsets = {normal_domain(d): int(v) for d, v in opsets.items()}
        key = tuple(sorted(self._opsets.items()))
        self.memo: dict[Any, Any] = self.session.memo.setdefault(key, {})
        self._shared: dict[Any, tuple[Descriptor, ...]] = self.session.registry.memo.setdefault(
            key, {}
        )

    def set_opset_version(self, domain: str, version: int) -> None:
        """Set the opset version of one domain."""
        self.set_opsets({**self._opsets, normal_domain(domain): version})

    def has_opset_version(self, domain: str) -> bool:
        """True when the domain was imported."""
        return normal_domain(domain) in self._opsets

    def opset_version(self, domain: str = "") -> int:
        """Opset version of a domain; for one not imported, the newest known."""
        name = normal_domain(domain)
        return self._opsets.get(name) or newest_opset(name)

    @property
    def opsets(self) -> dict[str, int]:
        """Opset version by imported domain."""
        return dict(self._opsets)

    # -- results of rules

    def known_results(self) -> Mapping[Any, tuple[Descriptor, ...]]:
        """What rules gave that depends on nothing but operator, attributes and inputs."""
        session = self.session
        usable = not (session.logging or session.functions or session.custom)
        return self._shared if usable else {}

    def remembered(self, key: Any) -> tuple[Descriptor, ...] | None:
        """What a rule gave for equal operator, attributes and inputs, or ``None``."""
        session = self.session
        if session.logging:
            return None
        token = self.constraints_store.token
        if not (session.functions or session.custom):
            found = self._shared.get(key)
            if found is None and not token:
                found = self._shared.get((0, key))
            if found is not None:
                return found
        memo = self.memo
        known: tuple[Descriptor, ...] | None = memo.get(key)
        return memo.get((token, key)) if known is None else known

    def remember(self, key: Any, found: tuple[Descriptor, ...], *, facts_used: bool) -> None:
        """Keep what a rule gave; for other models too, unless something of this one matters."""
        session = self.session
        token = self.constraints_store.token
        shadowed = session.functions or session.custom
        table = self.memo if shadowed or (facts_used and token) else self._shared
        keep(table, (token, key) if facts_used else key, found, MAX_REMEMBERED)

    # -- values of any kind

    def lookup(self, name: str) -> Descriptor | None:
        """Descriptor of a value here or in an enclosing graph, or ``None``."""
        scope: ShapesContext | None = self
        while scope is not None:
            found = scope.values.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def set_value(self, name: str, descriptor: Descriptor, *, node_index: int = -1) -> None:
        """Set the descriptor of a value of any kind.

        Raises:
            ArgumentError: The name is empty or the descriptor is none.
        """
        if not name or not isinstance(descriptor, OptimTensor | OptimSequence | OptimOptional):
            raise ArgumentError(
                "A value has a name and an OptimTensor, OptimSequence or OptimOptional. Received: "
                f"name={name!r}, descriptor={descriptor!r}.",
                argument="descriptor",
            )
        replaces = name in self.values
        self.values[name] = descriptor
        if isinstance(descriptor, OptimTensor):
            self.session.reserve(descriptor.shape.symbols())
        if self.session.logging:
            log_value(self, name, descriptor, node_index, replaces=replaces)

    def known(self, name: str) -> bool:
        """True when the value has a descriptor of any kind, here or in an enclosing graph."""
        return self.lookup(name) is not None

    # -- tensors

    def set(self, name: str, tensor: OptimTensor | OptimSequence | OptimOptional) -> None:
        """Set the descriptor of a value."""
        self.set_value(name, tensor)

    def has(self, name: str) -> bool:
        """True when the value is a known tensor (or map)."""
        return isinstance(self.lookup(name), OptimTensor)

    def get(self, name: str) -> OptimTensor:
        """Descriptor of a tensor.

        Raises:
            ShapeError: The value is not known, or is no tensor.
        """
        found = self.lookup(name)
        return found if isinstance(found, OptimTensor) else self._missing(name, "tensor", found)

    def _missing(self, name: str, kind: str, found: Descriptor | None) -> NoReturn:
        held = "nothing" if found is None else repr(found)
        raise ShapeError(
            f"The context must hold the {kind} that is asked for. Received: name={name!r}, which "
            f"holds {held}.",
            value=name,
        )

    def names(self) -> list[str]:
        """Names of the tensors set in this context itself."""
        return [n for n, d in self.values.items() if isinstance(d, OptimTensor)]

    def size(self) -> int:
        """Number of tensors set in this context itself."""
        return len(self.names())

    def empty(self) -> bool:
        """True when nothing is set in this context itself."""
        return not self.values

    def clear(self) -> None:
        """Forget values, facts, children and log; opsets and custom functions stay."""
        self.values.clear()
        self.reasons.clear()
        self.producers.clear()
        self._subgraphs.clear()
        self.constraints_store.clear()
        self.session.events.clear()

    # -- sequences and optionals

    def set_sequence(self, name: str, sequence: OptimSequence) -> None:
        """Set the descriptor of a sequence."""
        self.set_value(name, sequence)

    def has_sequence(self, name: str) -> bool:
        """True when the value is a known sequence."""
        return isinstance(self.lookup(name), OptimSequence)

    def get_sequence(self, name: str) -> OptimSequence:
        """Descriptor of a sequence.

        Raises:
            ShapeError: The value is not known, or is no sequence.
        """
        found = self.lookup(name)
        return found if isinstance(found, OptimSequence) else self._missing(name, "sequence", found)

    def sequences(self) -> dict[str, OptimSequence]:
        """Sequences set in this context itself, by name."""
        return {n: d for n, d in self.values.items() if isinstance(d, OptimSequence)}

    def sequence_names(self) -> list[str]:
        """Names of :meth:`sequences`."""
        return list(self.sequences())

    def sequences_size(self) -> int:
        """Number of :meth:`sequences`."""
        return len(self.sequences())

    def set_optional(self, name: str, optional: OptimOptional) -> None:
        """Set the descriptor of an optional."""
        self.set_value(name, optional)

    def has_optional(self, name: str) -> bool:
        """True when the value is a known optional."""
        return isinstance(self.lookup(name), OptimOptional)

    def get_optional(self, name: str) -> OptimOptional:
        """Descriptor of an optional.

        Raises:
            ShapeError: The value is not known, or is no optional.
        """
        found = self.lookup(name)
        return found if isinstance(found, OptimOptional) else self._missing(name, "optional", found)

    # -- preconditions

    def check_inputs_available(self, node: onnx.NodeProto) -> None:
        """Require every input of a node to be known, as tensor, sequence or optional.

        Raises:
            ShapeError: One is not.
        """
        for name in node.input:
            if name and not self.known(name):
                raise ShapeError(
                    f"Every input of a node must be known. Received: {name!r}, which is not. "
                    f"Where: node {node.op_type} {node.name!r}.",
                    node=f"{node.op_type} {node.name}",
                    value=name,
                )

    def check_outputs_not_available(self, node: onnx.NodeProto) -> None:
        """Require that no output of a node is known yet.

        Raises:
            ShapeError: One is.
        """
        for name in node.output:
            if name and name in self.values:
                raise ShapeError(
                    f"Each value is computed once. Received: {name!r}, which is known already. "
                    f"Where: node {node.op_type} {node.name!r}.",
                    node=f"{node.op_type} {node.name}",
                    value=name,
                )

    # -- children

    @property
    def path(self) -> tuple[tuple[int, str], ...]:
        """Owners of this graph from the main graph down, as ``(node index, attribute)``."""
        return tuple(reversed(self.owners()))

    def owners(self, limit: int | None = None) -> list[tuple[int, str]]:
        """Owners of this graph from the nearest one up, at most ``limit`` of them."""
        found: list[tuple[int, str]] = []
        scope: ShapesContext | None = self
        while scope is not None and (limit is None or len(found) < limit):
            if scope._owner is not None:
                found.append(scope._owner)
            scope = scope.parent
        return found

    def set_current_subgraph(self, node_index: int, attr_name: str) -> None:
        """Say which node and attribute own this context."""
        self._owner = (node_index, attr_name)
        above = self.parent.loop_depth if self.parent else 0
        self.loop_depth = above + (attr_name == "body")

    def register_subgraph_context(
        self, node_index: int, attr_name: str, child: ShapesContext
    ) -> None:
        """Keep the context of a subgraph or function body."""
        self._subgraphs[(node_index, attr_name)] = child

    def drop_subgraph_context(self, node_index: int, attr_name: str) -> None:
        """Forget a subgraph that can never run, so that nothing is written into it."""
        self._subgraphs.pop((node_index, attr_name), None)

    def has_subgraph_context(self, node_index: int, attr_name: str) -> bool:
        """True when that subgraph was inferred."""
        return (node_index, attr_name) in self._subgraphs

    def subgraph_context(self, node_index: int, attr_name: str) -> ShapesContext:
        """Context of a subgraph.

        Raises:
            ShapeError: There is none.
        """
        found = self._subgraphs.get((node_index, attr_name))
        if found is None:
            raise ShapeError(
                f"Only an inferred subgraph has a context. Received: node {node_index}, attribute "
                f"{attr_name!r}; there are {list(self._subgraphs)}."
            )
        return found

    get_subgraph_context = subgraph_context

    def subgraph_context_keys(self) -> list[tuple[int, str]]:
        """Keys of :meth:`subgraph_contexts`."""
        return list(self._subgraphs)

    def subgraph_contexts_size(self) -> int:
        """Number of :meth:`subgraph_contexts`."""
        return len(self._subgraphs)

    def subgraph_contexts(self) -> dict[tuple[int, str], ShapesContext]:
        """Contexts kept, by ``(node index, attribute)``; ``"function"`` for a function body."""
        return dict(self._subgraphs)

    # -- constraints

    def add_constraint(self, a: DimLike, b: DimLike) -> bool:
        """Record ``a == b``; returns whether that is news."""
        news = self.constraints_store.add(a, b)
        if news and self.session.logging:
            log_pair(self, ShapeEventAction.kConstraint, a, b)
        return news

    def has_constraint(self, a: DimLike, b: DimLike) -> bool:
        """True when exactly this equality was recorded."""
        return self.constraints_store.has(a, b)

    def constraints(self) -> list[tuple[str, str]]:
        """Equalities recorded here, as texts."""
        return [(str(a), str(b)) for a, b in self.constraints_store.equalities()]

    def constraints_size(self) -> int:
        """Number of :meth:`constraints`."""
        return len(self.constraints_store.equalities())

    def add_less_equal_constraint(self, a: DimLike, b: DimLike) -> bool:
        """Record ``a <= b``; returns whether that is news."""
        news = self.constraints_store.add_at_most(a, b)
        if news and self.session.logging:
            log_pair(self, ShapeEventAction.kConstraintMax, a, b)
        return news

    def has_less_equal_constraint(self, a: DimLike, b: DimLike) -> bool:
        """True when exactly this upper bound was recorded."""
        return self.constraints_store.has_at_most(a, b)

    def less_equal_constraints(self) -> list[tuple[str, str]]:
        """Upper bounds recorded here, as texts."""
        return [(str(a), str(b)) for a, b in self.constraints_store.upper_bounds()]

    def less_equal_constraints_size(self) -> int:
        """Number of :meth:`less_equal_constraints`."""
        return len(self.constraints_store.upper_bounds())

    def simplify(self, dim: DimLike) -> OptimDim:
        """A dimension rewritten with the equalities known here."""
        return self.constraints_store.simplify(dim)

    def upper_bound(self, dim: DimLike, limits: Mapping[str, int] | None = None) -> OptimDim | None:
        """The greatest value of a size, in symbols of the model's inputs; ``None`` without bound.

        With ``nnz <= n*m`` the bound of ``2*nnz + 1`` is ``2*n*m + 1``.

        Args:
            dim: A size.
            limits: Greatest values of symbols, such as ``{"batch": 32}``.
        """
        return upper_bound(self, self.simplify(dim), limits or {})

    def fresh_symbol(
        self,
        hint: str,
        *,
        reason: str = "",
        node: NodeView | None = None,
        value: str = "",
        axis: int = -1,
        upper: DimLike | None = None,
    ) -> OptimDim:
        """A new symbol, readable from ``hint``, that nothing else is called."""
        dim = self.session.new_symbol(hint)
        bound = None if upper is None else OptimDim(upper)
        self.session.origins[str(dim)] = Origin(
            symbol=str(dim),
            op_type=node.op_type if node else "",
            node=node.describe() if node else "",
            value=value,
            axis=axis,
            reason=reason,
            upper=bound,
            path=tuple(reversed(self.owners(MAX_ORIGIN_OWNERS))),
            inputs=node.input_names if node else (),
        )
        if bound is not None:
            self.add_less_equal_constraint(dim, bound)
        return dim

    # -- functions

    def set_local_function(self, function: onnx.FunctionProto) -> None:
        """Make a model-local function callable."""
        key = (normal_domain(function.domain), function.name, function.overload)
        self.session.functions[key] = function
        self.session.calls = None

    def local_function(self, node: onnx.NodeProto) -> onnx.FunctionProto | None:
        """The function that a node calls, or ``None``."""
        functions = self.session.functions
        if not functions:
            return None
        domain = normal_domain(node.domain)
        return functions.get((domain, node.op_type, node.overload))

    def set_custom_shape_inference_function(
        self, domain: str, op_type: str, function: CustomFunction
    ) -> None:
        """Use ``function(context, node)``, which sets the outputs itself, for an operator."""
        self.session.custom[(normal_domain(domain), op_type)] = function
        self._forget_memo()

    def has_custom_shape_inference_function(self, domain: str, op_type: str) -> bool:
        """True when such a function is set."""
        return (normal_domain(domain), op_type) in self.session.custom

    def remove_custom_shape_inference_function(self, domain: str, op_type: str) -> bool:
        """Drop such a function; returns whether there was one."""
        self._forget_memo()
        return self.session.custom.pop((normal_domain(domain), op_type), None) is not None

    def clear_custom_shape_inference_functions(self) -> None:
        """Drop all such functions."""
        self.session.custom.clear()
        self._forget_memo()

    def custom_shape_inference_keys(self) -> list[str]:
        """Operators with such a function, as ``domain:op``."""
        return [f"{d}:{o}" for d, o in self.session.custom]

    def _forget_memo(self) -> None:
        for table in self.session.memo.values():
            table.clear()

    def resolve_attributes(self, node: onnx.NodeProto) -> dict[str, onnx.AttributeProto]:
        """Attributes by name; references to a function's attributes are replaced or dropped."""
        table: dict[str, onnx.AttributeProto] = {}
        for attribute in node.attribute:
            reference = attribute.ref_attr_name
            if not reference:
                table[attribute.name] = attribute
            elif self.attribute_values is not None and reference in self.attribute_values:
                table[attribute.name] = self.attribute_values[reference]
        return table

    # -- declared types

    @property
    def contradictions(self) -> list[Contradiction]:
        """Declared types that the nodes contradict."""
        return list(self.session.contradictions)

    @property
    def assumptions(self) -> list[str]:
        """Equations that declared types claim and nothing proves; they are not used."""
        return list(self.session.assumptions)

    # -- explanations

    def explain(self, name: str) -> Explanation:
        """The chain of nodes and reasons behind what is unknown in a value or symbol."""
        return explain(self, name)

    def blame(self, limit: int = 10) -> list[Blame]:
        """The nodes that cost most precision, worst first."""
        return blame_of(self, limit)

    # -- log

    @property
    def events_enabled(self) -> bool:
        """Whether the log is kept; off by default."""
        return self.session.logging

    @events_enabled.setter
    def events_enabled(self, on: bool) -> None:
        self.session.logging = on

    def events(self) -> list[ShapeEvent]:
        """The log of this context and all others of the same inference, in order."""
        return list(self.session.events)

    def clear_events(self) -> None:
        """Empty the log; descriptors stay."""
        self.session.events.clear()

    def log_node(self, node: onnx.NodeProto, index: int) -> None:
        """Log that a node was inferred."""
        if self.session.logging:
            log_node(self, node, index)
