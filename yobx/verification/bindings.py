"""Sizes for the dynamic dimensions of a model.

Each symbol gets a prime of its own, different from every fixed size of the model: a swapped,
doubled or forgotten symbol then shows. A second set repeats this with even sizes for all but the
batch, twice a prime each where there are such: padding and halves show there alone. 1 finds
broadcasting and squeezing by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.errors import ArgumentError
from yobx.onnx_optim.sizes import size_of, solve, symbols_of
from yobx.verification.inputs import resize
from yobx.verification.runner import input_names
from yobx.words import nearest

__all__ = ["AUTO", "Binding", "InputAxes", "axes_of_inputs", "choose_bindings", "resized"]

AUTO = ("primes", "primes2", "ones")
_SMALLEST_BATCH = 5


@dataclass(frozen=True)
class InputAxes:
    """The dimensions of one graph input.

    Attributes:
        name: Input name.
        dims: A size, or the symbol that stands for it; ``None`` when the rank is open.
    """

    name: str
    dims: tuple[int | str, ...] | None


@dataclass(frozen=True)
class Binding:
    """One assignment of sizes.

    Attributes:
        label: ``sample``, ``primes``, ``primes2``, ``ones``, ``zeros`` or the user's.
        sizes: Symbol -> size.
        softer: What to try when the source itself refuses these sizes.
        impossible: Why no input can have these sizes, ``""`` when it can.
    """

    label: str
    sizes: Mapping[str, int]
    softer: Binding | None = None
    impossible: str = ""

    def describe(self) -> str:
        """``B=7, S=11``, or ``static sizes``."""
        return ", ".join(f"{name}={size}" for name, size in self.sizes.items()) or "static sizes"


def axes_of_inputs(model: onnx.ModelProto) -> list[InputAxes]:
    """The dimensions of the inputs; an open dimension without a name gets ``input[axis]``."""
    wanted = set(input_names(model))
    result = []
    for value in model.graph.input:
        if value.name not in wanted:
            continue
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            result.append(InputAxes(value.name, None))
            continue
        dims: list[int | str] = []
        for axis, dim in enumerate(tensor.shape.dim):
            if dim.HasField("dim_value"):
                dims.append(int(dim.dim_value))
            else:
                dims.append(dim.dim_param or f"{value.name}[{axis}]")
        result.append(InputAxes(value.name, tuple(dims)))
    return result


def choose_bindings(
    model: onnx.ModelProto,
    axes: Sequence[InputAxes],
    sample: Sequence[NDArray[Any]],
    asked: Sequence[str | Mapping[str, int]] | None = None,
) -> list[Binding]:
    """Chooses the sizes to try.

    Args:
        model: The converted model, whose fixed sizes are avoided.
        axes: Dimensions of its inputs.
        sample: The inputs given, in the same order.
        asked: Labels out of ``primes``, ``primes2``, ``ones``, ``zeros`` (empty batches),
            ``sample``, or dicts symbol -> size; the first three by default.

    Returns:
        The bindings; one called ``sample`` when nothing is dynamic.

    Raises:
        ArgumentError: If a label or a symbol is unknown, or a size is not a positive integer or 0.
    """
    natural = _sample_sizes(axes, sample)
    if not natural:
        return [Binding("sample", {})]
    taken = _fixed_sizes(model)
    grown = _primes_for(axes, natural, taken, grow=True)
    shrunk = _primes_for(axes, natural, taken | set(grown.values()), grow=False)
    batches = _batch_symbols(axes)
    batch_primes = {s: grown[s] if s in batches else n for s, n in natural.items()}
    smaller = {s: min(grown[s], shrunk[s]) for s in grown}
    sample_binding = Binding("sample", natural)
    batch_only = {s: 1 if s in batches else size for s, size in natural.items()}
    varied = [batch_primes] if batch_primes != natural else []
    # What to try when the source refuses: smaller sizes, primes for the batch alone, multiples
    # of the sizes given; never these alone, at which a frozen size does not show.
    ready = {
        "primes": _first_of("primes", grown, smaller, *varied, _multiples(natural, 2)),
        "primes2": _first_of("primes2", shrunk, *varied, _multiples(natural, 4)),
        "ones": _first_of("ones", dict.fromkeys(natural, 1), batch_only),
        "zeros": Binding("zeros", {s: 0 if s in batches else n for s, n in natural.items()}),
        "sample": sample_binding,
    }
    chosen = []
    for entry in AUTO if asked is None else asked:
        if not isinstance(entry, Mapping):
            if entry not in ready:
                raise ArgumentError(
                    f"a binding is one of {', '.join(ready)}, or a dict symbol -> size. Received: "
                    f"{entry!r}.",
                    argument="bindings",
                )
            binding = ready[entry]
        else:
            binding = _custom(entry, natural)
        possible = _possible(axes, binding)
        if possible.impossible and not isinstance(entry, str):
            raise ArgumentError(
                f"a binding gives every input sizes of 0 or more. Received: {dict(entry)!r}: "
                f"{possible.impossible}.",
                argument="bindings",
            )
        chosen.append(possible)
    return chosen


def resized(
    axes: Sequence[InputAxes], sample: Sequence[NDArray[Any]], binding: Binding, seed: int
) -> list[NDArray[Any]]:
    """The sample inputs brought to the sizes of a binding.

    Args:
        axes: Dimensions of the inputs.
        sample: Arrays in the same order.
        binding: Sizes.
        seed: Seed of the new values.

    Returns:
        One array an input.
    """
    result = []
    for position, (axis, array) in enumerate(zip(axes, sample, strict=True)):
        if axis.dims is None or len(axis.dims) != np.ndim(array):
            result.append(np.asarray(array))
            continue
        shape = [
            have if isinstance(dim, int) else _size(dim, binding.sizes, have)
            for dim, have in zip(axis.dims, np.shape(array), strict=True)
        ]
        rng = np.random.default_rng([seed, position])
        result.append(resize(array, shape, rng, _squares(axis.dims)))
    return result


def _squares(dims: Sequence[int | str | None]) -> list[int]:
    """Axes with the symbol of the next one, the last ones first, each axis once."""
    found: list[int] = []
    for axis in reversed(range(len(dims) - 1)):
        one, other = dims[axis], dims[axis + 1]
        if isinstance(one, str) and one == other and axis + 1 not in found:
            found.append(axis)
    return found


def _size(dim: str, sizes: Mapping[str, int], have: int) -> int:
    """A size under a binding; the one of the sample where the binding does not say it."""
    size = size_of(dim, sizes)
    return have if size is None else size


def _sample_sizes(axes: Sequence[InputAxes], sample: Sequence[NDArray[Any]]) -> dict[str, int]:
    pairs = [
        (dim, int(have))
        for axis, array in zip(axes, sample, strict=True)
        for dim, have in zip(axis.dims or (), np.shape(array), strict=False)
        if isinstance(dim, str)
    ]
    return solve(pairs)


def _batch_symbols(axes: Sequence[InputAxes]) -> set[str]:
    firsts = [axis.dims[0] for axis in axes if axis.dims]
    return {symbol for dim in firsts if isinstance(dim, str) for symbol in symbols_of(dim)}


def _possible(axes: Sequence[InputAxes], binding: Binding) -> Binding:
    """The binding, or the first softer one under which no size is negative."""
    dims = [dim for axis in axes for dim in axis.dims or () if isinstance(dim, str)]
    negative = [dim for dim in dims if (size_of(dim, binding.sizes) or 0) < 0]
    if not negative:
        return binding
    if binding.softer is not None:
        return _possible(axes, binding.softer)
    told = f"no input has {', '.join(f'{d} = {size_of(d, binding.sizes)}' for d in negative)}"
    return replace(binding, impossible=f"{told}, under {binding.describe()}")


def _fixed_sizes(model: onnx.ModelProto) -> set[int]:
    """Every size written in the model: inputs, outputs, values and weights."""
    sizes: set[int] = set()
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        sizes.update(int(d.dim_value) for d in value.type.tensor_type.shape.dim if d.dim_value)
    for tensor in model.graph.initializer:
        sizes.update(int(d) for d in tensor.dims)
    return sizes


def _primes_for(
    axes: Sequence[InputAxes], natural: Mapping[str, int], taken: set[int], *, grow: bool
) -> dict[str, int]:
    """A distinct prime near the sample size for each symbol, not below 5 for a batch.

    Growing keeps every element of the sample. Shrinking keeps to what exists for certain: there
    may be no positions beyond the sample. It takes even sizes where there are some.
    """
    used = set(taken)
    batch = _batch_symbols(axes)
    result = {}
    for symbol, size in natural.items():
        least = _SMALLEST_BATCH if symbol in batch else 2
        choice = None
        if not grow and symbol not in batch:
            choice = _previous_even(size, used) or _previous_prime(size, used)
        if choice is None:
            choice = _next_prime(max(least, size), used)
        used.add(choice)
        result[symbol] = choice
    return result


def _custom(entry: Mapping[str, int], natural: Mapping[str, int]) -> Binding:
    unknown = sorted(set(entry) - set(natural))
    if unknown:
        near = nearest(unknown[0], natural, n=1, cutoff=0.6)
        hint = f"; {near}" if near else "."
        raise ArgumentError(
            f"a binding names symbols of the inputs. Received: {', '.join(unknown)}{hint} "
            f"The model has: {', '.join(natural)}.",
            argument="bindings",
        )
    for symbol, size in entry.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ArgumentError(
                f"a size is an integer, 0 or more. Received: {symbol}={size!r}.",
                argument="bindings",
            )
    sizes = {**natural, **entry}
    return Binding(",".join(f"{s}={n}" for s, n in entry.items()), sizes)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


def _next_prime(start: int, used: Iterable[int]) -> int:
    number = start
    while not _is_prime(number) or number in used:
        number += 1
    return number


def _first_of(label: str, first: Mapping[str, int], *others: Mapping[str, int]) -> Binding:
    """The first of several sizes, each with the next other one in case the source refuses it."""
    softer: Binding | None = None
    for i, sizes in reversed(list(enumerate(others))):
        if sizes != first and sizes not in others[:i]:
            softer = Binding(label, sizes, softer)
    return Binding(label, first, softer)


def _multiples(natural: Mapping[str, int], factor: int) -> dict[str, int]:
    """Multiples of the sample's sizes, for a source that asks for sizes it can divide."""
    return {s: size * factor * (2 * i + 1) for i, (s, size) in enumerate(natural.items())}


def _previous_even(start: int, used: Iterable[int]) -> int | None:
    """The largest free even number up to `start`, not below a third of it: twice a prime first."""
    free = [n for n in range(start, max(3, start // 3), -1) if n % 2 == 0 and n not in used]
    primes = [n for n in free if _is_prime(n // 2) and n // 2 not in used]
    return next(iter(primes or free), None)


def _previous_prime(start: int, used: Iterable[int]) -> int | None:
    """The largest free prime up to `start`, not below a third of it."""
    for number in range(start, max(1, start // 3), -1):
        if _is_prime(number) and number not in used:
            return number
    return None
