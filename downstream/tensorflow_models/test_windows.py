"""A marked function is a check: it returns a model and its inputs."""

import numpy as np
import pytest
import tensorflow as tf


@pytest.mark.yobx(bindings=["primes", {"batch": 2}])
def windows():
    @tf.function
    def windows(x):
        return tf.signal.frame(x, 4, 2)

    return windows, (np.arange(24, dtype=np.float32).reshape(2, 12),)
