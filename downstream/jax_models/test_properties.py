"""The exported model agrees for any inputs, not for one sample only."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from physics import energy

from pytest_yobx.strategies import inputs_for


@pytest.fixture
def session(yobx_convert):
    function, sample, options = energy()
    model = yobx_convert(function, sample, **options)
    return onnxruntime.InferenceSession(model.SerializeToString())


# The session is made once; Hypothesis asks whether that is meant.
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arrays=inputs_for([("float32", ("N", 3)), ("float32", ("N", 3))]))
def test_energy(session, arrays):
    names = [value.name for value in session.get_inputs()]
    got = session.run(None, dict(zip(names, arrays, strict=True)))[0]
    np.testing.assert_allclose(got, energy()[0](*arrays), rtol=1e-5, atol=1e-6)
