"""Bad input: the error names the argument, what must hold, and what arrived."""

import pytest
import torch
from torch.distributions import Distribution

import spantree as st
from tests.graphs import random_directions, random_graphs, with_garbage

FUNCTIONS = {
    "log_partition": lambda log_weights, lengths=None, **kw: st.log_partition(
        log_weights, lengths, **kw
    ),
    "edge_marginals": lambda log_weights, lengths=None, **kw: st.edge_marginals(
        log_weights, lengths, **kw
    ),
    "hessian_vector_product": lambda log_weights, lengths=None, **kw: st.hessian_vector_product(
        log_weights,
        torch.zeros_like(log_weights) if torch.is_tensor(log_weights) else 0,
        lengths,
        **kw,
    ),
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    return FUNCTIONS[request.param]


@pytest.fixture
def weights(device):
    """Eight graphs of eleven nodes beside the root."""
    return random_graphs((8,), 11).to(device)


@pytest.mark.parametrize(
    "shape", [(8, 12, 13), (12,), (), (8, 1, 1), (1, 1), (0, 0), (3, 0, 0), (2, 1)], ids=str
)
def test_shape_of_log_weights(shape, function, device):
    message = r"log_weights must have shape \(\.\.\., n, n\) with n >= 2, got "
    with pytest.raises(ValueError, match=message) as caught:
        function(torch.zeros(shape, device=device))
    assert str(caught.value).endswith(f"got {shape}")


@pytest.mark.parametrize("wrong", [torch.int64, torch.bool, torch.complex64], ids=str)
def test_dtype_of_log_weights(wrong, function, device):
    message = f"log_weights must have a floating-point dtype, got {wrong}$"
    with pytest.raises(TypeError, match=message):
        function(torch.zeros(3, 3, dtype=wrong, device=device))


@pytest.mark.parametrize("wrong", [[[0.0, 1.0]], 3.0, None, torch.zeros(3, 3).numpy()], ids=type)
def test_type_of_log_weights(wrong, function):
    message = rf"log_weights must be a torch\.Tensor, got {type(wrong).__name__}$"
    with pytest.raises(TypeError, match=message):
        function(wrong)


@pytest.mark.parametrize("shape", [(7,), (8, 1), (), (1,), (0,)], ids=str)
def test_shape_of_lengths(shape, function, weights):
    lengths = torch.ones(shape, dtype=torch.int64, device=weights.device)
    message = r"lengths must have shape \(8,\) like the batch, got "
    with pytest.raises(ValueError, match=message) as caught:
        function(weights, lengths)
    assert str(caught.value).endswith(f"got {shape}")


def test_shape_of_lengths_of_a_single_graph(function, weights):
    message = r"lengths must have shape \(\) like the batch, got \(1,\)"
    with pytest.raises(ValueError, match=message):
        function(weights[0], torch.tensor([11], device=weights.device))


@pytest.mark.parametrize("wrong", [torch.float32, torch.float64, torch.bool], ids=str)
def test_dtype_of_lengths(wrong, function, weights):
    lengths = torch.ones(8, dtype=wrong, device=weights.device)
    with pytest.raises(TypeError, match=f"lengths must have an integer dtype, got {wrong}$"):
        function(weights, lengths)


def test_type_of_lengths(function, weights):
    with pytest.raises(TypeError, match=r"lengths must be a torch\.Tensor, got list$"):
        function(weights, [11] * 8)


@pytest.mark.parametrize("wrong", [0, -1, 12, 2**40])
@pytest.mark.parametrize("validate_args", [True, None])
def test_range_of_lengths(wrong, validate_args, function, weights, backend):
    lengths = torch.full((8,), 11, device=weights.device)
    lengths[3] = wrong
    message = rf"lengths must lie in 1\.\.11, got {wrong} at batch item \(3,\)"
    with pytest.raises(ValueError, match=message):
        function(weights, lengths, validate_args=validate_args, backend=backend)


def test_range_of_lengths_without_a_batch(function, weights, backend):
    with pytest.raises(ValueError, match=r"lengths must lie in 1\.\.11, got 0$"):
        function(weights[0], torch.tensor(0, device=weights.device), backend=backend)


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf, -torch.nan])
@pytest.mark.parametrize("edge", [(3, 1), (0, 5), (11, 10), (5, 11)], ids=str)
def test_values_of_log_weights(wrong, edge, function, weights, root, backend):
    weights[2][edge] = wrong
    found = "inf" if wrong == torch.inf else "nan"
    message = (
        rf"log_weights must not hold NaN or \+inf on an edge, found {found} "
        rf"at batch item \(2,\), edge {edge[0]} -> {edge[1]}"
    )
    with pytest.raises(ValueError, match=message):
        function(weights, root=root, backend=backend, validate_args=True)


def test_values_in_a_batch_of_two_axes(function, weights, backend):
    weights[6, 4, 2] = torch.nan
    with pytest.raises(ValueError, match=r"found nan at batch item \(1, 2\), edge 4 -> 2"):
        function(weights.reshape(2, 4, 12, 12), backend=backend)


def test_values_without_a_batch(function, weights, backend):
    weights[0, 4, 2] = torch.nan
    with pytest.raises(
        ValueError, match=r"NaN or \+inf on an edge, found nan.*edge 4 -> 2"
    ) as caught:
        function(weights[0], backend=backend)
    assert "batch item" not in str(caught.value)


def test_values_of_coarse_dtypes(function, weights, backend):
    for coarse in (torch.float32, torch.bfloat16, torch.float16):
        wrong = weights.to(coarse)
        wrong[1, 2, 3] = torch.inf
        with pytest.raises(ValueError, match=r"found inf at batch item \(1,\), edge 2 -> 3"):
            function(wrong, backend=backend)


@pytest.mark.parametrize("wrong", ["many", "Single", None, True])
def test_root(wrong, function, weights):
    message = f"root must be 'single' or 'multi', got {wrong!r}$"
    with pytest.raises(ValueError, match=message):
        function(weights, root=wrong)


@pytest.mark.parametrize("wrong", ["cuda", "cpp", None])
def test_backend(wrong, function, weights):
    message = f"backend must be one of 'auto', 'native', 'torch', got {wrong!r}$"
    with pytest.raises(ValueError, match=message):
        function(weights, backend=wrong)


@pytest.mark.parametrize("shape", [(12, 12), (8, 12), (7, 12, 12), (8, 12, 12, 3), ()], ids=str)
def test_shape_of_direction(shape, weights):
    message = r"direction must have shape \(\.\.\., 8, 12, 12\) ending in that of log_weights, got "
    with pytest.raises(ValueError, match=message) as caught:
        st.hessian_vector_product(weights, torch.zeros(shape, device=weights.device))
    assert str(caught.value).endswith(f"got {shape}")


def test_type_and_dtype_of_direction(weights):
    with pytest.raises(TypeError, match=r"direction must be a torch\.Tensor, got float$"):
        st.hessian_vector_product(weights, 1.0)
    message = r"direction must have a floating-point dtype, got torch\.int64$"
    with pytest.raises(TypeError, match=message):
        st.hessian_vector_product(weights, torch.zeros_like(weights, dtype=torch.int64))


def test_options_are_keywords(weights):
    with pytest.raises(TypeError, match="positional"):
        st.log_partition(weights, None, "multi")


@pytest.mark.parametrize("garbage_in", ["log_weights", "direction"])
def test_garbage_off_the_edges_is_no_error(garbage_in, weights, root, backend):
    lengths = torch.arange(4, 12, device=weights.device)
    (direction,) = random_directions(1, weights)
    if garbage_in == "log_weights":
        weights = with_garbage(weights, lengths)
    else:
        direction = with_garbage(direction, lengths)
    options = {"root": root, "backend": backend, "validate_args": True}
    assert st.log_partition(weights, lengths, **options).isfinite().all()
    assert st.edge_marginals(weights, lengths, **options).isfinite().all()
    assert st.hessian_vector_product(weights, direction, lengths, **options).isfinite().all()


def test_validation_follows_torch_unless_told(function, weights, backend):
    """`validate_args=None` asks torch.distributions; shapes are checked whatever it says."""
    weights[2, 3, 1] = torch.nan
    with pytest.raises(ValueError, match="NaN"):
        function(weights, backend=backend)
    Distribution.set_default_validate_args(False)
    function(weights, backend=backend)
    with pytest.raises(ValueError, match="NaN"):
        function(weights, backend=backend, validate_args=True)
    with pytest.raises(ValueError, match="shape"):
        function(weights[:, :3], backend=backend)


def test_nan_spoils_no_other_item(weights, root, backend):
    expected = st.edge_marginals(weights, root=root, backend=backend)
    weights[2, 3, 1] = torch.nan
    weights[5, 0, 1] = torch.inf
    actual = st.edge_marginals(weights, root=root, backend=backend, validate_args=False)
    untouched = [0, 1, 3, 4, 6, 7]
    assert torch.equal(actual[untouched], expected[untouched])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_devices_must_fit_together(weights):
    on_gpu = weights.cuda()
    lengths = torch.full((8,), 11)
    with pytest.raises(ValueError, match="lengths must be on the device of log_weights"):
        st.log_partition(on_gpu, lengths)
    with pytest.raises(ValueError, match="direction must be on the device of log_weights"):
        st.hessian_vector_product(on_gpu, torch.zeros(8, 12, 12))
    with pytest.raises(ValueError, match="'native' needs log_weights on the CPU"):
        st.log_partition(on_gpu, backend="native")
