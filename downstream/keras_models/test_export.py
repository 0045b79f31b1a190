"""What the service that loads the model relies on."""

from shop.models import ranker


def test_names_and_types(assert_converts):
    result = assert_converts(ranker(), target_opset=18)
    assert [value.name for value in result.model.graph.input] == ["user", "item"]
    assert result.report.opset == 18
    assert result.outputs[result.model.graph.output[0].name].shape[1:] == (1,)
