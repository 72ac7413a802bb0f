"""Graphs without a tree: an error that says why, or log Z = -inf and zeros; never NaN."""

import pytest
import torch

import spantree as st
from tests.graphs import random_directions, random_graphs, random_lengths
from tests.tolerances import assert_close


def unreachable(log_weights: torch.Tensor) -> torch.Tensor:
    """Cut nodes 3 and 5 off: they are left with each other alone."""
    cut = log_weights.clone()
    cut[:, [3, 5]] = -torch.inf
    cut[3, 5] = cut[5, 3] = 0.0
    return cut


def no_heads(log_weights: torch.Tensor) -> torch.Tensor:
    """Forbid every edge."""
    return torch.full_like(log_weights, -torch.inf)


def two_components(log_weights: torch.Tensor) -> torch.Tensor:
    """Let the root reach two halves of the graph that do not see each other."""
    late = torch.arange(len(log_weights)) > len(log_weights) // 2
    apart = late != late[:, None]
    apart[0] = False
    return log_weights.masked_fill(apart.to(log_weights.device), -torch.inf)


def star(log_weights: torch.Tensor) -> torch.Tensor:
    """Leave the edges of the root alone."""
    cut = log_weights.clone()
    cut[1:] = -torch.inf
    return cut


NEVER = {"unreachable": unreachable, "no heads": no_heads}
SINGLE = {"two components": two_components, "star": star}


@pytest.fixture(params=["gentle", "hostile"])
def graphs(request, device):
    """Four graphs of seven nodes, of everyday weights or of weights far apart."""
    scale = 2.0 if request.param == "gentle" else 3000.0
    return random_graphs((4,), 7, scale=scale).to(device)


def infeasible(graphs, flaw):
    spoilt = graphs.clone()
    spoilt[2] = (NEVER | SINGLE)[flaw](graphs[2])
    return spoilt


EVERY_CASE = [
    *((flaw, root) for flaw in NEVER for root in ("single", "multi")),
    *((flaw, "single") for flaw in SINGLE),
]
every_case = pytest.mark.parametrize(("flaw", "kind"), EVERY_CASE)


@every_case
def test_error(flaw, kind, graphs, backend):
    spoilt = infeasible(graphs, flaw)
    expected = {
        "unreachable": r"no spanning tree exists for batch item \(2,\): "
        r"nodes \[3, 5\] cannot be reached from the root",
        "no heads": r"no spanning tree exists for batch item \(2,\): "
        r"nodes \[1, 2, 3, 4, 5, 6, 7\] cannot be reached from the root",
        "two components": r"no spanning tree with a single root edge exists for batch item \(2,\)",
        "star": r"no spanning tree with a single root edge exists for batch item \(2,\)",
    }[flaw]
    (direction,) = random_directions(1, spoilt)
    options = {"root": kind, "backend": backend, "validate_args": True}
    with pytest.raises(ValueError, match=expected):
        st.log_partition(spoilt, **options)
    with pytest.raises(ValueError, match=expected):
        st.edge_marginals(spoilt, **options)
    with pytest.raises(ValueError, match=expected):
        st.hessian_vector_product(spoilt, direction, **options)


@every_case
def test_without_validation(flaw, kind, graphs, backend):
    """-inf and zeros for the item, the same numbers as ever for the others, at every order."""
    spoilt = infeasible(graphs, flaw).requires_grad_()
    u, v = random_directions(2, graphs)
    options = {"root": kind, "backend": backend, "validate_args": False}

    def results(log_weights):
        log_partition = st.log_partition(log_weights, **options)
        marginals = st.edge_marginals(log_weights, **options)
        first = st.hessian_vector_product(log_weights, u, **options)
        (second,) = torch.autograd.grad(first, log_weights, v, create_graph=True)
        (third,) = torch.autograd.grad((second * u).sum(), log_weights)
        (gradient,) = torch.autograd.grad(log_partition.sum(), log_weights)
        return log_partition, marginals, first, second, third, gradient

    actual, expected = results(spoilt), results(graphs.clone().requires_grad_())
    assert actual[0][2] == -torch.inf
    for derivative in actual[1:]:
        assert (derivative[2] == 0.0).all()
    for a, b in zip(actual, expected, strict=True):
        assert_close(a[[0, 1, 3]], b[[0, 1, 3]])
    if backend == "native":
        for a, b in zip(actual, expected, strict=True):
            assert torch.equal(a[[0, 1, 3]], b[[0, 1, 3]])


@pytest.mark.parametrize("flaw", SINGLE)
def test_several_root_edges_may_still_do(flaw, graphs, backend):
    spoilt = infeasible(graphs, flaw)
    options = {"root": "multi", "backend": backend, "validate_args": True}
    assert st.log_partition(spoilt, **options).isfinite().all()
    if flaw == "star":
        expected = torch.zeros_like(spoilt[2])
        expected[0, 1:] = 1.0
        assert torch.equal(st.edge_marginals(spoilt, **options)[2], expected)


def test_message_without_a_batch(root, backend, device):
    spoilt = unreachable(random_graphs((), 7).to(device))
    message = r"^no spanning tree exists: nodes \[3, 5\] cannot be reached from the root"
    with pytest.raises(ValueError, match=message):
        st.log_partition(spoilt, root=root, backend=backend)


def test_message_in_a_batch_of_two_axes(root, backend, device):
    graphs = random_graphs((2, 3), 7).to(device)
    graphs[1, 0] = unreachable(graphs[1, 0])
    with pytest.raises(ValueError, match=r"for batch item \(1, 0\): nodes \[3, 5\]"):
        st.log_partition(graphs, root=root, backend=backend)


def test_padding_is_not_unreachable(root, backend, device):
    """And a node that only padding could have reached is."""
    graphs = random_graphs((3,), 7).to(device)
    graphs[1, :, 2] = -torch.inf
    graphs[1, 6, 2] = 0.0
    lengths = torch.tensor([7, 4, 3], device=device)
    with pytest.raises(ValueError, match=r"batch item \(1,\): nodes \[2\] cannot be reached"):
        st.log_partition(graphs, lengths, root=root, backend=backend)
    lengths[1] = 7
    assert st.log_partition(graphs, lengths, root=root, backend=backend).isfinite().all()


def test_all_bad_items_are_counted(root, backend, device):
    """The first is explained; the error says how many more there are."""
    graphs = random_graphs((5,), 7).to(device)
    for item in (1, 3, 4):
        graphs[item] = unreachable(graphs[item])
    with pytest.raises(ValueError, match=r"\(1,\).*(2 more|\(3,\).*\(4,\)).*nodes \[3, 5\]"):
        st.log_partition(graphs, root=root, backend=backend)


def test_tiny_weights_are_still_edges(root, backend, device):
    """A tree 1e5 below the rest of what the weights offer is a tree."""
    graph = torch.full((6, 6), 1e4, dtype=torch.float64, device=device)
    graph[0] = -torch.inf
    graph[0, 1] = -1e4
    graph[1] = -1e5
    log_partition = st.log_partition(graph, root=root, backend=backend, validate_args=True)
    # 0 → 1, one strong subtree of the other four nodes below it: 4³ of them.
    expected = -1e4 - 1e5 + 3e4 + torch.tensor(64.0, dtype=torch.float64).log()
    assert_close(log_partition, expected)


def test_random_patterns_against_a_search(root, backend, device):
    """Feasibility as a search of the graph sees it."""
    generator = torch.Generator().manual_seed(5)
    graphs = torch.randn(300, 6, 6, generator=generator, dtype=torch.float64)
    graphs = graphs.masked_fill(torch.rand(300, 6, 6, generator=generator) < 0.6, -torch.inf)
    lengths = random_lengths((300,), 5)
    log_partition = st.log_partition(
        graphs.to(device), lengths.to(device), root=root, backend=backend, validate_args=False
    )
    expected = torch.tensor(
        [_has_tree(g, int(n), root) for g, n in zip(graphs, lengths, strict=True)]
    )
    assert 50 < expected.sum() < 250
    assert torch.equal(log_partition.cpu() > -torch.inf, expected)


def _has_tree(graph: torch.Tensor, length: int, root: str) -> bool:
    edges = (graph > -torch.inf).tolist()
    children = [j for j in range(1, length + 1) if edges[0][j]]
    starts = [children] if root == "multi" else [[child] for child in children]
    for start in starts:
        reached, frontier = set(start), list(start)
        while frontier:
            i = frontier.pop()
            new = {j for j in range(1, length + 1) if edges[i][j]} - reached
            reached |= new
            frontier += new
        if len(reached) == length:
            return True
    return False
