"""Recurrent layers: cells, directions, states, masks, wrappers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, grid, layer, model, numbers, whole

__all__ = ["entries"]

_STEPS, _TIME = numbers(2, 5, 4), {"free": (1,)}
_PADDED = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
_HOLES = np.array([[0, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
_KINDS = ("SimpleRNN", "LSTM", "GRU")
_STATEFUL = "has no variables to write to"


def entries() -> Iterator[Entry]:
    """Every entry about recurrent layers."""
    for kind in _KINDS:
        yield from _plain(kind)
        yield from _masked(kind)
        yield from _wrapped(kind)
    yield from _cells()
    yield from _distributed()
    for rank in (1, 2, 3):
        yield from _convolutional(rank)


def _plain(kind: str) -> Iterator[Entry]:
    for choice in grid(
        return_sequences=[False, True], return_state=[False, True], go_backwards=[False, True]
    ):
        yield layer(kind, _STEPS, units=3, **choice, options=_TIME)
    yield layer(kind, _STEPS, units=3, use_bias=False, options=_TIME)
    yield layer(kind, _STEPS, units=3, unroll=True)
    yield layer(kind, _STEPS, units=3, dropout=0.3, recurrent_dropout=0.2, options=_TIME)
    for activation in ("relu", "sigmoid", "softsign", "elu", "gelu", "linear", None):
        yield layer(kind, _STEPS, units=3, activation=activation, options=_TIME)
    if kind != "SimpleRNN":
        for activation in ("hard_sigmoid", "tanh", "relu"):
            yield layer(kind, _STEPS, units=3, recurrent_activation=activation, options=_TIME)
    if kind == "LSTM":
        yield layer(kind, _STEPS, units=3, unit_forget_bias=False, options=_TIME)
    if kind == "GRU":
        for sequences in (False, True):
            yield layer(
                kind, _STEPS, units=3, reset_after=False, return_sequences=sequences, options=_TIME
            )
    states = [numbers(2, 3, seed=i) for i in range(2 if kind == "LSTM" else 1)]
    yield layer(
        kind,
        _STEPS,
        units=3,
        return_sequences=True,
        return_state=True,
        label="initial state",
        options={"kwargs": {"initial_state": states}, "free": _with_states(len(states))},
    )
    reason = "a stateful layer writes to its variables"
    yield layer(
        kind,
        _STEPS,
        units=3,
        stateful=True,
        options={"refused": _STATEFUL, "reason": reason, "modes": ("static",)},
    )
    yield layer(kind, numbers(2, 1, 4), units=3, return_sequences=True, label="one step")
    yield layer(kind, _STEPS.astype("float64"), units=3, dtype="float64", options=_TIME)


def _with_states(count: int) -> list[dict[int, str]]:
    """The batch and the time of the sequence; the batch of its states."""
    return [{0: "batch", 1: "time"}, *(count * [{0: "batch"}])]


def _masked(kind: str) -> Iterator[Entry]:
    for name, mask in (("padded", _PADDED), ("holes and all masked", _HOLES)):
        for choice in grid(
            return_sequences=[False, True],
            go_backwards=[False, True],
            zero_output_for_mask=[False, True],
        ):
            if choice["zero_output_for_mask"] and not choice["return_sequences"]:
                continue
            yield layer(
                kind,
                _STEPS,
                units=3,
                **choice,
                return_state=True,
                label=name,
                options={"kwargs": {"mask": mask}, **_TIME},
            )
    ids = np.where(_PADDED, whole(2, 5, low=1, high=7), 0).astype("int32")
    yield model(kind, "after Embedding(mask_zero=True)", lambda: _embedded(kind), ids, free=(1,))
    values = np.where(_PADDED[..., None], _STEPS, 0).astype("float32")
    yield model(kind, "after Masking", lambda: _after_masking(kind), values, free=(1,))
    yield model(
        kind, "two after Masking", lambda: _after_masking(kind, twice=True), values, free=(1,)
    )


def _embedded(kind: str) -> Any:
    import keras

    recurrent = getattr(keras.layers, kind)(3)
    ids = keras.Input((None,), dtype="int32")
    return keras.Sequential([ids, keras.layers.Embedding(7, 4, mask_zero=True), recurrent])


def _after_masking(kind: str, *, twice: bool = False) -> Any:
    import keras

    make = getattr(keras.layers, kind)
    stack = [make(3, return_sequences=True)] if twice else []
    values = keras.Input((None, 4))
    return keras.Sequential([values, keras.layers.Masking(), *stack, make(3)])


def _wrapped(kind: str) -> Iterator[Entry]:
    import keras

    make = getattr(keras.layers, kind)
    both = keras.layers.Bidirectional
    for choice in grid(
        merge_mode=["concat", "sum", "mul", "ave", None], return_sequences=[False, True]
    ):
        merge, sequences = choice["merge_mode"], choice["return_sequences"]

        def build(merge: Any = merge, sequences: bool = sequences) -> Any:
            return both(make(3, return_sequences=sequences), merge_mode=merge)

        name = f"{kind}, merge_mode={merge!r}, return_sequences={sequences}"
        yield model("Bidirectional", name, build, _STEPS, free=(1,))
        if merge in {"concat", None}:
            yield model(
                "Bidirectional",
                f"{name}, masked",
                build,
                _STEPS,
                kwargs={"mask": _HOLES},
                free=(1,),
            )
    yield model(
        "Bidirectional",
        f"{kind}, return_state",
        lambda: both(make(3, return_sequences=True, return_state=True)),
        _STEPS,
        free=(1,),
    )
    yield model(
        "Bidirectional",
        f"{kind}, other backward layer",
        lambda: both(make(3), backward_layer=make(3, activation="relu", go_backwards=True)),
        _STEPS,
        free=(1,),
    )
    states = [numbers(2, 3, seed=i) for i in range(4 if kind == "LSTM" else 2)]
    yield model(
        "Bidirectional",
        f"{kind}, initial state",
        lambda: both(make(3)),
        _STEPS,
        kwargs={"initial_state": states},
        free=_with_states(len(states)),
    )


def _cells() -> Iterator[Entry]:
    import keras

    layers = keras.layers
    for kind in _KINDS:
        make = getattr(layers, f"{kind}Cell")
        states = [numbers(2, 3, seed=i) for i in range(2 if kind == "LSTM" else 1)]
        yield layer(f"{kind}Cell", numbers(2, 4), states, units=3, label="one step")
        for sequences in (False, True):

            def build(make: Any = make, sequences: bool = sequences) -> Any:
                return layers.RNN(make(3), return_sequences=sequences, return_state=True)

            name = f"{kind}Cell, return_sequences={sequences}"
            yield model("RNN", name, build, _STEPS, free=(1,))
            yield model("RNN", f"{name}, masked", build, _STEPS, kwargs={"mask": _HOLES}, free=(1,))

        def stacked(make: Any = make, **choice: Any) -> Any:
            return layers.RNN([make(3), make(2)], **choice)

        for choice in grid(return_sequences=[False, True], go_backwards=[False, True]):
            name = f"two of {kind}Cell, " + ", ".join(f"{k}={v}" for k, v in choice.items())
            yield model(
                "StackedRNNCells", name, lambda s=stacked, c=choice: s(**c), _STEPS, free=(1,)
            )
        yield model(
            "StackedRNNCells",
            f"two of {kind}Cell, masked",
            lambda s=stacked: s(return_state=True),
            _STEPS,
            kwargs={"mask": _HOLES},
            free=(1,),
        )
    yield model(
        "StackedRNNCells",
        "unlike cells",
        lambda: layers.RNN(
            layers.StackedRNNCells(
                [layers.LSTMCell(3), layers.GRUCell(4), layers.SimpleRNNCell(2)]
            ),
            return_sequences=True,
        ),
        _STEPS,
        free=(1,),
    )
    for unroll in (False, True):
        yield model(
            "RNN",
            f"cell of one's own, unroll={unroll}",
            lambda u=unroll: layers.RNN(_leaky_cell()(3), unroll=u, return_sequences=True),
            _STEPS,
            free=() if unroll else (1,),
        )
    yield model(
        "Bidirectional",
        "RNN of a cell of one's own",
        lambda: layers.Bidirectional(layers.RNN(_leaky_cell()(3), return_sequences=True)),
        _STEPS,
        free=(1,),
    )


def _leaky_cell() -> Any:
    import keras

    @keras.saving.register_keras_serializable(package="conformance")
    class LeakyCell(keras.layers.Layer):  # type: ignore[misc]
        """A state that decays, and counts its steps."""

        def __init__(self, units: int, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.units = units
            self.state_size = [units, 1]
            self.output_size = units
            self.dense = keras.layers.Dense(units)

        def build(self, shape: Any) -> None:
            self.dense.build(shape)
            self.built = True

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "units": self.units}

        def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
            memory = 0.5 * states[0] + keras.ops.tanh(self.dense(inputs))
            return memory / (1.0 + states[1]), [memory, states[1] + 1.0]

    return LeakyCell


def _distributed() -> Iterator[Entry]:
    import keras

    layers = keras.layers
    free = (1,)
    yield model(
        "TimeDistributed",
        "Dense",
        lambda: layers.TimeDistributed(layers.Dense(3)),
        _STEPS,
        free=free,
    )
    frames = numbers(2, 3, 6, 7, 2)
    yield model(
        "TimeDistributed",
        "Conv2D",
        lambda: layers.TimeDistributed(layers.Conv2D(3, 3)),
        frames,
        free=free,
    )
    yield model(
        "TimeDistributed",
        "Dense, masked",
        lambda: layers.TimeDistributed(layers.Dense(3)),
        _STEPS,
        kwargs={"mask": _HOLES},
        free=free,
    )
    yield model(
        "TimeDistributed",
        "LSTM",
        lambda: layers.TimeDistributed(layers.LSTM(3)),
        numbers(2, 3, 5, 4),
        free=free,
    )
    yield model(
        "TimeDistributed",
        "BatchNormalization",
        lambda: layers.TimeDistributed(layers.BatchNormalization()),
        _STEPS,
        free=free,
    )


def _convolutional(rank: int) -> Iterator[Entry]:
    kind = f"ConvLSTM{rank}D"
    sides = {1: (7,), 2: (6, 7), 3: (4, 5, 4)}[rank]
    frames = numbers(2, 3, *sides, 2)
    free = {"free": (1,)}
    for choice in grid(padding=["valid", "same"], return_sequences=[False, True]):
        yield layer(kind, frames, filters=3, kernel_size=2, **choice, options=free)
    for choice in grid(go_backwards=[False, True], return_state=[True]):
        yield layer(kind, frames, filters=3, kernel_size=3, **choice, options=free)
    yield layer(kind, frames, filters=3, kernel_size=2, strides=2, options=free)
    yield layer(kind, frames, filters=3, kernel_size=2, dilation_rate=2, options=free)
    yield layer(
        kind,
        frames,
        filters=3,
        kernel_size=2,
        use_bias=False,
        activation="relu",
        recurrent_activation="hard_sigmoid",
        options=free,
    )
    mask = np.array([[1, 0, 1], [0, 0, 0]], bool)
    yield layer(
        kind,
        frames,
        filters=3,
        kernel_size=2,
        return_sequences=True,
        label="masked",
        options={"kwargs": {"mask": mask}, **free},
    )
    first = numbers(2, 3, 2, *sides)
    yield layer(kind, first, filters=3, kernel_size=2, data_format="channels_first", options=free)
