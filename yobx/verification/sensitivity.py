"""What float rounding alone does to a model, measured on the model itself.

One tolerance for deep networks is either too loose for a shallow one or wrong for a deep one.
Instead, every value that is rounded gets random relative noise of its operator's class (see
``tolerances.toml``), a few times; how far the outputs move, scaled back by the amplification, is
the standard deviation that rounding explains:

* rounded, transcendental: ``v * (1 + noise)``;
* contraction: ``v + noise * op(|A|, |B|)``, the condition-aware bound, by the same operator on
    absolute values; more for ``Resize`` in a large image, whose coordinates are rounded; of 16 bits
    relative to the result, but for operations of which the source adds up in 16 bits;
* composite (softmax, normalisations, recurrent cells): noise on every float input and on the
output;
* in float16 as much as for the smallest normal number, where a value is subnormal;
* exact operators pass the noise of their inputs on;
* the factor of a normalisation, whether it is an operator or folded into the weights of a
convolution, gets one noise for the whole model: where the statistics of all layers are equal, as in
a fresh model, its rounding is the same everywhere and adds up instead of averaging out;
* sums of whole numbers are not rounded;
* the result of an operation of the source that is a documented exception gets noise of that size.

``noise.py`` writes that twin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from yobx.verification.comparison import Allowance, ulp_allowance
from yobx.verification.dtypes import epsilon_half, is_float, spacing, widen
from yobx.verification.error_classes import ValueClass, classify
from yobx.verification.inner_values import Collector
from yobx.verification.magnitudes import largest_input
from yobx.verification.noise import noisy_model, run_numbers
from yobx.verification.noise_waves import before_noise
from yobx.verification.runner import LoadError, RunError, Session, exposed
from yobx.verification.tolerances import ToleranceException, Tolerances
from yobx.verification.turn_limit import is_ended, turns_enough
from yobx.verification.value_types import ValueType, value_types

__all__ = ["Sensitivity"]


@dataclass
class Sensitivity:
    """Allowances for the values of one model.

    Args:
        model: The converted model.
        tolerances: The tolerance table, with the exceptions that apply.
        provider: Execution provider.
        seed: Seed of the noise.
        narrow: Results of casts which end an operation of the source in 16 bits.

    Attributes:
        notes: What could not be measured, and why.
    """

    model: onnx.ModelProto
    tolerances: Tolerances
    provider: str = "CPUExecutionProvider"
    seed: int = 0
    narrow: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    _classes: dict[str, ValueClass] | None = None
    _types: dict[str, ValueType] | None = None
    _session: Session | None = None
    _all: bool = False
    _amplification: float = 1.0
    _turns: int | None = None
    _endless: bool = False

    @property
    def most_bent(self) -> float:
        """Allowances that small noise may add at most, with room for what it was measured with."""
        return self._amplification * self.tolerances.bent

    def value_class(self, name: str) -> ValueClass:
        """What the operators before a value do to it; inputs and initializers are exact."""
        if self._classes is None:
            self._classes = classify(self.model, self.tolerances, self.narrow)
        return self._classes.get(name, ValueClass())

    def strict(
        self, name: str, dtype: np.dtype[Any], values: Mapping[str, Any] | None = None
    ) -> Allowance | None:
        """The allowance of a value behind at most one inexact operator: none is measured.

        Args:
            name: The value.
            dtype: Its dtype.
            values: Values of the run: some exceptions are told of large inputs alone.
        """
        found = self.value_class(name)
        if found.depth == 0:
            return ulp_allowance(f"exact ({_words('exact')})", 0.0, zero_sign=found.zero_sign)
        if found.depth == 1 and found.label in {"rounded", "transcendental"} and is_float(dtype):
            direct, largest = None, None
            if self._computed_in(found, dtype):
                direct = self.model.graph.node[found.inexact]
                largest = largest_input(direct, values or {})
            absolute = self.tolerances.absolute(direct, dtype.name, largest)
            absolute *= self.tolerances.scale
            ulp = self.tolerances.units(found.label, dtype.name, direct, largest)
            return self._with_exceptions(found, dtype, ulp, absolute, found.op_type)
        if is_float(dtype) and self._exceptions(found, dtype):
            ulp = self.tolerances.units("transcendental", dtype.name)
            return self._with_exceptions(found, dtype, ulp, 0.0, "")
        return None

    def _exceptions(self, found: ValueClass, dtype: np.dtype[Any]) -> list[ToleranceException]:
        """Those of the operation of the source whose result a value is.

        In 16 bits they are told of results that the source rounds to that type, as well.
        """
        if dtype.itemsize < np.dtype(np.float32).itemsize and not found.narrowed:
            return []
        return self.tolerances.of_operation(found.operation, dtype.name)

    def _rounded_once(self, name: str) -> bool:
        """Whether a value is what several steps in float32 give, cast to the source's 16 bits.

        What the steps make of rounding is measured before the cast, which is allowed what its class
        is: a function is off by more near its zeros alone.
        """
        found = self.value_class(name)
        elementwise = found.label in {"rounded", "transcendental"}
        return found.depth > 1 and found.narrowed and elementwise and name in self.narrow

    def _with_exceptions(
        self, found: ValueClass, dtype: np.dtype[Any], ulp: float, absolute: float, operator: str
    ) -> Allowance:
        """A fixed allowance, more where the source's operation is a documented exception."""
        scale = self.tolerances.scale
        told = self._exceptions(found, dtype)
        ulp = max((ulp, *(e.ulp * scale for e in told)))
        absolute = max((absolute, *(e.absolute * scale for e in told)))
        of = operator or (found.operation.kind if found.operation is not None else "")
        label = found.label if operator else "transcendental"
        rule = f"{ulp:g} ULP ({label}: {of})"
        if absolute:
            rule += f" or {absolute:.1e} absolute (documented exception)"
        return Allowance(rule, np.asarray(absolute), ulp, zero_sign=found.zero_sign)

    def _computed_in(self, found: ValueClass, dtype: np.dtype[Any]) -> bool:
        """Whether the one inexact operator of a value computes, in the source, in that dtype.

        One that is computed in another dtype and cast later is not what an exception tells of.
        """
        if all(e.op != found.op_type for e in self.tolerances.exceptions):
            return False
        if self._types is None:
            self._types = value_types(self.model)
        operator = self.model.graph.node[found.inexact]
        result = operator.output[0]
        if operator.domain not in {"", "ai.onnx"}:
            return False
        kinds = {self._types[result].dtype} if result in self._types else set()
        for node in self.model.graph.node:
            if node.input[:1] == [result] and not self.narrow.isdisjoint(node.output):
                kinds.add(self._types[node.output[0]].dtype)
        return helper.np_dtype_to_tensor_dtype(dtype) in kinds

    def chosen(
        self,
        name: str,
        dtype: np.dtype[Any],
        rule: str,
        values: Mapping[str, Any] | None = None,
    ) -> Allowance | None:
        """The allowance by a rule of the caller; `None` when it is to be measured.

        Args:
            name: The value.
            dtype: Its dtype.
            rule: ``auto``, ``measured``, or a class whose units in the last place apply.
            values: Values of the run.
        """
        if rule == "auto" or not is_float(dtype):
            return self.strict(name, dtype, values)
        if rule == "measured":
            return None
        ulp = self.tolerances.units(rule, dtype.name)
        words = f"{ulp:g} ULP ({rule}, as asked)"
        return ulp_allowance(words, ulp, zero_sign=self.value_class(name).zero_sign)

    def measure(
        self,
        feeds: Mapping[str, NDArray[Any]],
        clean: Mapping[str, Any],
        names: Sequence[str],
        *,
        runs: int | None = None,
    ) -> dict[str, Allowance]:
        """Measures what rounding explains.

        Args:
            feeds: Inputs of the run.
            clean: Values of the same model without noise and without optimisation.
            names: Values to measure.
            runs: Number of noisy runs, as the table has it if ``None``.

        Returns:
            One allowance a name. Where nothing could be measured it is the usual tolerance of the
            dtype, and says so.
        """
        places = self._places(names)
        noisy = self._noisy_runs(feeds, list(places.values()), clean, runs or self.tolerances.runs)
        return {
            name: self._allowance(name, clean[name], [r.get(place) for r in noisy])
            for name, place in places.items()
        }

    def measure_small(
        self,
        feeds: Mapping[str, NDArray[Any]],
        clean: Mapping[str, Any],
        names: Sequence[str],
    ) -> dict[str, Allowance]:
        """Measures again, also with noise as small as rounding, and as what an element is allowed.

        A root near zero moves by the root of what its argument does: sixteen times the noise moves
        it four times as far, and what is scaled back is a quarter of what rounding does. Where the
        argument is cut off at zero it may take some deviations until anything moves.

        Args:
            feeds: Inputs of the run.
            clean: Values of the same model without noise and without optimisation.
            names: Values to measure.

        Returns:
            One allowance a name.
        """
        again, places = self.tolerances.again, self._places(names)
        wanted = list(dict.fromkeys(places.values()))
        noisy = self._noisy_runs(feeds, wanted, clean, again)
        small: dict[float, list[dict[str, Any]]] = {}
        try:
            for amplification in (1.0, self.tolerances.elementwise) if noisy else ():
                session, _ = self._noisy_session(wanted, clean, amplification)
                numbers = run_numbers(self.seed, again)
                runs = [session.run({**feeds, **n}, wanted).values for n in numbers]
                small[amplification] = runs
        except (LoadError, RunError) as error:
            self._note(f"rounding could not be measured with small noise: {self._words(error)}")
        allowances: dict[str, Allowance] = {}
        for name, at in places.items():
            less = {scale: [r.get(at) for r in runs] for scale, runs in small.items()}
            allowances[name] = self._allowance(name, clean[name], [r.get(at) for r in noisy], less)
        return allowances

    def _places(self, names: Sequence[str]) -> dict[str, str]:
        """Where in a noisy twin each value is measured."""
        return {n: before_noise(n) if self._rounded_once(n) else n for n in names}

    def measure_turns(
        self,
        feeds: Mapping[str, NDArray[Any]],
        inner: Collector,
        clean: Mapping[str, Sequence[Any]],
        values: Mapping[str, Any],
    ) -> dict[str, list[Allowance]]:
        """Measures what rounding explains of values inside control flow.

        Args:
            feeds: Inputs of the run.
            inner: What collects them.
            clean: Value -> one array a turn, without noise.
            values: Every known value without noise, for their magnitudes.

        Returns:
            One allowance a turn for each value.
        """
        twin, self._amplification, _ = noisy_model(
            inner.model,
            self.tolerances,
            seed=self.seed,
            clean={**values, **clean},
            narrow=self.narrow,
            turns=self._turns,
        )
        runs: list[dict[str, list[Any]]] = []
        try:
            session = Session(twin, weights=self.model, provider=self.provider, optimise=False)
            numbers = run_numbers(self.seed, self.tolerances.runs)
            runs = [inner.turns(session.run({**feeds, **n}).values) for n in numbers]
        except (LoadError, RunError) as error:
            if self._allows_more_turns(error, feeds):
                return self.measure_turns(feeds, inner, clean, values)
            self._note(f"rounding inside control flow could not be measured: {self._words(error)}")

        def noisy(name: str, turn: int) -> list[Any]:
            return [run[name][turn] if turn < len(run[name]) else None for run in runs]

        return {
            name: [self._allowance(name, a, noisy(name, turn)) for turn, a in enumerate(arrays)]
            for name, arrays in clean.items()
        }

    def _noisy_runs(
        self,
        feeds: Mapping[str, NDArray[Any]],
        names: Sequence[str],
        clean: Mapping[str, Any],
        runs: int,
    ) -> list[dict[str, Any]]:
        wanted = list(dict.fromkeys(names))
        if self._endless:
            return []
        try:
            if self._session is None or not set(wanted) <= set(self._session.outputs):
                self._session, self._amplification = self._noisy_session(wanted, clean)
            session, numbers = self._session, run_numbers(self.seed, runs)
            return [session.run({**feeds, **n}, wanted).values for n in numbers]
        except (LoadError, RunError) as error:
            if self._allows_more_turns(error, feeds):
                self._session = None
                return self._noisy_runs(feeds, names, clean, runs)
            self._endless = is_ended(error)
            self._note(f"rounding could not be measured: {self._words(error)}")
            return []

    def _noisy_session(
        self, wanted: Sequence[str], clean: Mapping[str, Any], amplification: float | None = None
    ) -> tuple[Session, float]:
        twin, amplification, _ = noisy_model(
            self.model,
            self.tolerances,
            seed=self.seed,
            clean=clean,
            narrow=self.narrow,
            turns=self._turns,
            amplification=amplification,
        )
        session = Session(
            exposed(twin, wanted, inplace=True),
            weights=self.model,
            provider=self.provider,
            optimise=False,
        )
        return session, amplification

    def _allows_more_turns(self, error: Exception, feeds: Mapping[str, NDArray[Any]]) -> bool:
        """Raises the number of turns where the model itself takes more; returns whether it does."""
        if not is_ended(error):
            return False
        before = self._turns or self.tolerances.turns
        self._turns = turns_enough(self.model, feeds, before, self.provider)
        return self._turns > before

    def _words(self, error: Exception) -> str:
        if not is_ended(error):
            return str(error)
        most = self._turns or self.tolerances.turns
        return f"noise keeps a loop of the model turning, more than {most} times"

    def _note(self, message: str) -> None:
        if message not in self.notes:
            self.notes.append(message)

    def _allowance(
        self,
        name: str,
        clean: Any,
        noisy: list[Any],
        small: Mapping[float, list[Any]] | None = None,
    ) -> Allowance:
        found = self.value_class(name)
        if isinstance(clean, list):
            return self._allowance_of_each(name, clean, noisy, small or {})
        if clean is None:
            return self._fallback(np.zeros(0, np.float32), found)
        clean = np.asarray(clean)
        usable = [np.asarray(n) for n in noisy if n is not None and np.shape(n) == clean.shape]
        if not usable or len(usable) < len(noisy):
            return self._fallback(clean, found)
        if not is_float(clean.dtype):
            flips = np.logical_or.reduce([n != clean for n in usable])
            unstable = np.asarray(flips, np.bool_)
            return Allowance("exact", unstable=unstable, blind_above=self.tolerances.blind)
        less = {
            scale: [np.asarray(n) for n in runs]
            for scale, runs in (small or {}).items()
            if all(n is not None and np.shape(n) == clean.shape for n in runs)
        }
        return self._measured(clean, usable, less, found, once=self._rounded_once(name))

    def _allowance_of_each(
        self,
        name: str,
        clean: Sequence[Any],
        noisy: Sequence[Any],
        small: Mapping[float, Sequence[Any]],
    ) -> Allowance:
        """That of a sequence, of which every tensor has its own."""

        def of(runs: Sequence[Any], place: int) -> list[Any]:
            alike = (isinstance(run, list) and len(run) == len(clean) for run in runs)
            return [run[place] if same else None for run, same in zip(runs, alike, strict=True)]

        each = [
            self._allowance(
                name, tensor, of(noisy, i), {scale: of(runs, i) for scale, runs in small.items()}
            )
            for i, tensor in enumerate(clean)
        ]
        rules = dict.fromkeys(allowance.rule for allowance in each)
        return Allowance("; ".join(rules) or "exact", elements=tuple(each))

    def _measured(
        self,
        clean: NDArray[Any],
        noisy: list[NDArray[Any]],
        small: Mapping[float, list[NDArray[Any]]],
        found: ValueClass,
        *,
        once: bool,
    ) -> Allowance:
        wide = widen(clean)
        finite = np.isfinite(wide) & np.logical_and.reduce([np.isfinite(widen(n)) for n in noisy])
        quiet = np.where(finite, wide, 0.0)
        sigma = _deviation(noisy, quiet, finite, self._amplification)
        # What is linear moves twice as far at most: each run is rounded itself.
        for amplification, runs in small.items():
            less = _deviation(runs, quiet, finite, amplification)
            sigma = np.where(less > self.tolerances.bent * sigma, less, sigma)
        # Six runs may take one deviation for too small, so the typical one counts too, but an
        # element that is a sum of more numbers than most may be off by as much as it moves.
        # What a composite operator makes of its inner steps is not in proportion to an element.
        unlike = np.inf if found.label == "composite" else self.tolerances.unlike
        typical = _typical(sigma, unlike, self.tolerances)
        pooled = np.maximum(sigma, np.sqrt((np.square(sigma) + np.square(typical)) / 2.0))
        unit = spacing(np.abs(quiet), clean.dtype) if clean.size else np.zeros(clean.shape)
        scale = self.tolerances.scale
        # Where noise alone turns a number into an infinity, a finite error says nothing.
        ends = np.isfinite(wide) & ~finite
        elementwise = np.where(ends, np.inf, scale * self.tolerances.elementwise * pooled)
        numbers = [~np.isnan(a) for a in (wide, *map(widen, noisy))]
        turned = np.logical_or.reduce(numbers) & ~np.logical_and.reduce(numbers)
        rms = 0.0
        if clean.size:
            # Half a unit: the outputs themselves are rounded to their dtype.
            rms = float(np.sqrt(np.mean(np.square(sigma)) + np.mean(np.square(unit / 2.0))))
        rule = f"{self.tolerances.elementwise * scale:g} measured deviations ({found.label})"
        ulp = 1.0
        if once and found.operation is not None:
            kind = found.operation.kind
            ulp = self.tolerances.units("transcendental", clean.dtype.name)
            rule = f"{ulp:g} ULP (transcendental: {kind}) or {rule}"
        return Allowance(
            rule,
            np.asarray(elementwise, np.float64),
            ulp=ulp,
            rms=scale * self.tolerances.rms_limit(clean.size, len(noisy)) * rms,
            zero_sign=found.zero_sign,
            unstable=np.asarray(turned, np.bool_),
            weak_above=self.tolerances.weak,
            blind_above=self.tolerances.blind,
            same_ulp=self.tolerances.same_ulp,
            same_share=self.tolerances.same_share,
        )

    def _fallback(self, clean: NDArray[Any], found: ValueClass) -> Allowance:
        if not is_float(clean.dtype):
            return Allowance("exact")
        row = self.tolerances.fallback.get(clean.dtype.name)
        scale = self.tolerances.scale
        if row is None:
            unit = epsilon_half(clean.dtype)
            rule, ulp = "1 ULP (no table entry)", max(1.0, scale)
            return Allowance(rule, ulp=ulp, zero_sign=unit < 0, usual=True)
        absolute = scale * (row.atol + row.rtol * np.abs(widen(clean)))
        rule = f"rtol {row.rtol:g}, atol {row.atol:g} (rounding could not be measured)"
        absolute = np.asarray(absolute, np.float64)
        return Allowance(rule, absolute, zero_sign=found.zero_sign, usual=True)


def _deviation(
    noisy: Sequence[NDArray[Any]], quiet: NDArray[Any], finite: NDArray[np.bool_], scale: float
) -> NDArray[np.float64]:
    """How far noise moves each element, root mean square, as rounding alone would."""
    with np.errstate(over="ignore", invalid="ignore"):
        moves = [np.abs(np.where(finite, widen(n), 0.0) - quiet) for n in noisy]
        # Scaled before it is squared: values near the end of the range would overflow.
        return np.asarray(np.sqrt(np.mean([np.square(m / scale) for m in moves], axis=0)))


def _typical(sigma: NDArray[np.float64], unlike: float, table: Tolerances) -> NDArray[np.float64]:
    """What elements beside each one typically move: one output may join numbers of unlike scale.

    The least of the medians of all that moves, along each axis where there are some, and no more
    than so many times what the element itself moves, where it does.
    """
    moving = np.where(sigma > 0.0, sigma, np.nan)
    if np.isnan(moving).all():
        return np.zeros_like(sigma)
    typical = np.full(sigma.shape, np.nanmedian(moving))
    for axis in range(sigma.ndim if sigma.ndim > 1 else 0):
        others = tuple(a for a in range(sigma.ndim) if a != axis)
        if sigma.size >= table.some * sigma.shape[axis]:
            still = np.isnan(moving).all(axis=others, keepdims=True)
            median = np.nanmedian(np.where(still, 0.0, moving), axis=others, keepdims=True)
            typical = np.minimum(typical, median)
    # As of steps, of which few turn over.
    rare = np.count_nonzero(sigma) < table.rare * sigma.size
    at_rest = np.zeros_like(sigma) if rare else typical
    beside = np.minimum(typical, unlike * sigma) if np.isfinite(unlike) else typical
    return np.where(sigma > 0.0, beside, at_rest)


def _words(label: str) -> str:
    return {"exact": "bitwise"}.get(label, label)
