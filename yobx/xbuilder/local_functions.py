"""Model-local functions: built once, called by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import onnx

from yobx.errors import GraphError, InternalError

__all__ = ["FunctionBody", "FunctionTable", "LocalFunction"]


class FunctionBody(Protocol):
    """What builds the body of a function: a graph builder."""

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs so far."""
        ...

    def make_tensor_output(self, name: str) -> str:
        """Makes a value an output."""
        ...

    def close(self) -> onnx.GraphProto:
        """Ends the body and returns it."""
        ...


@dataclass
class LocalFunction:
    """A function of the model.

    Attributes:
        domain: Its domain, not the standard one.
        name: Its name, the operator type of a call.
        inputs: Formal input names.
        outputs: Formal output names.
        attributes: Attribute names a call must give.
        defaults: Attributes a call may give, with the value used otherwise.
        proto: The finished function; ``None`` while its body is being built.
        body: Builder of the body.
    """

    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    defaults: tuple[onnx.AttributeProto, ...]
    proto: onnx.FunctionProto | None = None
    body: FunctionBody | None = None

    def finish(self, opsets: Mapping[str, int]) -> onnx.FunctionProto:
        """Ends the body, the first time, and returns the function.

        Args:
            opsets: Opset by domain.

        Returns:
            The function.

        Raises:
            GraphError: If the body does not define an output.
        """
        if self.proto is not None:
            return self.proto
        if self.body is None:
            raise InternalError(f"The function {self.name!r} has no body.")
        for name in self.outputs:
            if name not in self.body.output_names:
                self.body.make_tensor_output(name)
        graph = self.body.close()
        used = dict.fromkeys(["", *(node.domain for node in graph.node)])
        self.proto = onnx.FunctionProto(
            domain=self.domain,
            name=self.name,
            input=self.inputs,
            output=self.outputs,
            attribute=self.attributes,
            attribute_proto=self.defaults,
            node=graph.node,
            opset_import=[onnx.helper.make_opsetid(domain, opsets[domain]) for domain in used],
        )
        return self.proto

    def check_call(self, n_inputs: int, given: Mapping[str, object]) -> None:
        """Checks a call.

        Args:
            n_inputs: Number of inputs of the call.
            given: Its attributes.

        Raises:
            GraphError: If the number of inputs or the attributes do not fit.
        """
        call = f"{self.domain}.{self.name}"
        if n_inputs > len(self.inputs):
            raise GraphError(
                f"Too many inputs. Received: {n_inputs} for the local function {call}"
                f"({', '.join(self.inputs)}).",
                op_type=self.name,
            )
        known = (*self.attributes, *(default.name for default in self.defaults))
        unknown = [key for key in given if key not in known]
        missing = [key for key in self.attributes if given.get(key) is None]
        if unknown or missing:
            raise GraphError(
                f"The attributes do not fit the local function. Received: {call} with unknown "
                f"{unknown}, without {missing}. Its attributes: {list(known)}.",
                op_type=self.name,
            )


class FunctionTable:
    """Local functions of a model by domain and name, in the order in which they were made."""

    def __init__(self) -> None:
        self._functions: dict[tuple[str, str], LocalFunction] = {}

    def __iter__(self) -> Iterator[LocalFunction]:
        return iter(self._functions.values())

    def get(self, domain: str, name: str) -> LocalFunction | None:
        """Finds a function.

        Args:
            domain: Its domain.
            name: Its name.

        Returns:
            The function, or ``None``.
        """
        return self._functions.get((domain, name))

    def add(self, function: LocalFunction) -> None:
        """Adds a function.

        Args:
            function: Function with a new name.

        Raises:
            GraphError: If the domain is the standard one or the name is taken.
        """
        key = (function.domain, function.name)
        if not function.domain or key in self._functions:
            raise GraphError(
                "A local function needs its own domain and a new name. "
                f"Received: domain={function.domain!r}, name={function.name!r}.",
                op_type=function.name,
                hint="Try another domain or name.",
            )
        self._functions[key] = function
