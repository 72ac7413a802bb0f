"""Inside `torch.compile(fullgraph=True)`: the same numbers, forwards and backwards."""

import pytest
import torch

import spantree as st
from tests.graphs import random_directions, random_graphs, random_lengths
from tests.hostile import hostile_log_weights
from tests.tolerances import assert_close


@pytest.fixture(params=["eager", "aot_eager"])
def compiled(request):
    def compile_whole(function):
        torch._dynamo.reset()
        return torch.compile(function, fullgraph=True, backend=request.param)

    yield compile_whole
    torch._dynamo.reset()


FUNCTIONS = {
    "log_partition": lambda theta, u, lengths, **kw: st.log_partition(theta, lengths, **kw),
    "edge_marginals": lambda theta, u, lengths, **kw: st.edge_marginals(theta, lengths, **kw),
    "hessian_vector_product": lambda theta, u, lengths, **kw: st.hessian_vector_product(
        theta, u, lengths, **kw
    ),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("ragged", "validate_args"),
    [(False, None), (True, None), (True, False)],
    ids=["full", "ragged", "ragged-unchecked"],
)
def test_forwards_and_backwards(function, validate_args, ragged, root, backend, compiled, device):
    theta = random_graphs((2, 3), 4, forbidden=0.2).to(device).requires_grad_()
    u, cotangent = random_directions(2, theta.detach())
    lengths = random_lengths((2, 3), 4).to(device) if ragged else None
    arguments = (theta, u.requires_grad_(), lengths)

    def loss(theta, u, lengths):
        options = {"root": root, "backend": backend, "validate_args": validate_args}
        result = FUNCTIONS[function](theta, u, lengths, **options)
        weight = cotangent if result.dim() == theta.dim() else cotangent.sum((-2, -1))
        return result, (result * weight).sum() + u.sum()

    expected, total = loss(*arguments)
    expected_gradients = torch.autograd.grad(total, arguments[:2])
    actual, total = compiled(loss)(*arguments)
    assert_close(actual, expected)
    gradients = torch.autograd.grad(total, arguments[:2])
    for a, b in zip(gradients, expected_gradients, strict=True):
        assert_close(a, b)


def test_beside_other_operations(root, backend, compiled, device):
    """A scorer, log Z and a marginal in one graph, as in training."""
    torch.manual_seed(0)
    scorer = torch.nn.Bilinear(6, 6, 1, dtype=torch.float64).to(device)
    words = torch.randn(4, 5, 6, dtype=torch.float64, device=device)

    def loss(words):
        pairs = words[:, :, None].expand(4, 5, 5, 6).contiguous()
        scores = scorer(pairs, pairs.mT.contiguous().mT.transpose(1, 2).contiguous()).squeeze(-1)
        total = st.log_partition(scores, root=root, backend=backend)
        sure = st.edge_marginals(scores, root=root, backend=backend)
        return (total - (sure * scores).sum((-2, -1))).mean()

    parameters = tuple(scorer.parameters())
    expected = loss(words)
    expected_gradients = torch.autograd.grad(expected, parameters)
    actual = compiled(loss)(words)
    assert_close(actual, expected)
    gradients = torch.autograd.grad(actual, parameters)
    for a, b in zip(gradients, expected_gradients, strict=True):
        assert_close(a, b)


def test_several_sizes(root, backend, compiled, device):
    function = compiled(lambda theta: st.log_partition(theta, root=root, backend=backend))
    for count, num_nodes in ((3, 2), (3, 5), (4, 5), (7, 9)):
        theta = random_graphs((count,), num_nodes).to(device)
        assert_close(function(theta), st.log_partition(theta, root=root, backend=backend))


@pytest.mark.parametrize("half", [torch.float32, torch.bfloat16], ids=str)
def test_coarse_dtypes(half, root, backend, compiled, device):
    theta = random_graphs((3,), 4).to(device, half).requires_grad_()
    options = {"root": root, "backend": backend}
    actual = compiled(lambda theta: st.log_partition(theta, **options))(theta)
    assert torch.equal(actual, st.log_partition(theta, **options))
    (gradient,) = torch.autograd.grad(actual.sum(), theta)
    assert gradient.dtype == half


def test_hostile_weights(root, backend, compiled, device):
    theta = hostile_log_weights("chain-of-3-cycles-bound-by-600", 6).to(device)
    function = compiled(lambda theta: st.edge_marginals(theta, root=root, backend=backend))
    assert_close(function(theta), st.edge_marginals(theta, root=root, backend=backend))


def test_bad_values_are_still_reported(backend, compiled, device):
    theta = random_graphs((3,), 4).to(device)
    theta[1, 2, 3] = torch.nan
    function = compiled(lambda theta: st.log_partition(theta, backend=backend, validate_args=True))
    with pytest.raises(ValueError, match=r"NaN.*\(1,\), edge 2 -> 3"):
        function(theta)
