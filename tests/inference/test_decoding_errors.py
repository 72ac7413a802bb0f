"""What the decoder says of bad input, and of graphs without a tree."""

import re
import time

import pytest
import torch

import spantree as st
from tests.graphs import random_graphs
from tests.test_no_tree import EVERY_CASE, infeasible

FUNCTIONS = {
    "best_tree": lambda *args, **kw: st.best_tree(*args, return_score=True, **kw),
    "best_trees": lambda log_weights, *args, **kw: st.best_trees(log_weights, 2, *args, **kw),
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    return FUNCTIONS[request.param]


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one(k):
    with pytest.raises(ValueError, match=f"k must be at least 1, got {k}$"):
        st.best_trees(torch.zeros(3, 3), k)


@pytest.mark.parametrize("k", [1.0, "2", None, True, torch.tensor(2)], ids=repr)
def test_no_integer(k):
    with pytest.raises(TypeError, match=re.escape(f"k must be an int, got {k!r}")):
        st.best_trees(torch.zeros(3, 3), k)


def test_shapes_types_and_options(function):
    with pytest.raises(ValueError, match=r"log_weights must have shape \(\.\.\., n, n\)"):
        function(torch.zeros(3, 4))
    with pytest.raises(TypeError, match="log_weights must have a floating-point dtype"):
        function(torch.zeros(3, 3, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"log_weights must be a torch\.Tensor, got list"):
        function([[0.0]])
    with pytest.raises(ValueError, match="root must be 'single' or 'multi', got 'both'"):
        function(torch.zeros(3, 3), root="both")
    with pytest.raises(ValueError, match=r"lengths must have shape \(\) like the batch"):
        function(torch.zeros(3, 3), torch.tensor([2]))
    for wrong in (0, 3):
        with pytest.raises(ValueError, match=rf"lengths must lie in 1\.\.2, got {wrong}"):
            function(torch.zeros(3, 3), torch.tensor(wrong))


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
@pytest.mark.parametrize("edge", [(3, 1), (0, 5), (11, 10), (5, 11)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_values(wrong, edge, dtype, function, root):
    graphs = random_graphs((4,), 11).to(dtype)
    graphs[2][edge] = wrong
    message = (
        rf"log_weights must not hold NaN or \+inf on an edge, found {wrong} "
        rf"at batch item \(2,\), edge {edge[0]} -> {edge[1]}"
    )
    with pytest.raises(ValueError, match=message):
        function(graphs, root=root)
    heads, scores = function(graphs, root=root, validate_args=False)
    assert (heads[..., 2, :] == -1).all()
    assert scores[..., 2].isnan().all()
    assert torch.equal(heads[..., 3, :], function(graphs[3], root=root)[0])


@pytest.fixture(params=["gentle", "hostile"])
def graphs(request):
    return random_graphs((4,), 7, scale=2.0 if request.param == "gentle" else 3000.0)


@pytest.mark.parametrize(("flaw", "kind"), EVERY_CASE)
def test_no_tree(flaw, kind, graphs, function):
    spoilt = infeasible(graphs, flaw).requires_grad_()
    with pytest.raises(ValueError, match=r"no spanning tree.* exists for batch item \(2,\)"):
        function(spoilt, root=kind)
    heads, scores = function(spoilt, root=kind, validate_args=False)
    assert (heads[..., 2, :] == -1).all()
    assert (scores[..., 2] == -torch.inf).all()
    expected = function(graphs, root=kind)
    others = [0, 1, 3]
    assert torch.equal(heads[..., others, :], expected[0][..., others, :])
    assert torch.equal(scores[..., others], expected[1][..., others])
    (gradient,) = torch.autograd.grad(scores[..., others].sum() + scores[..., 2].sum(), spoilt)
    assert (gradient[2] == 0.0).all()
    assert gradient.isfinite().all()


def test_the_reason_names_the_nodes(function):
    graphs = infeasible(random_graphs((4,), 7), "unreachable")
    message = (
        r"no spanning tree exists for batch item \(2,\): "
        r"nodes \[3, 5\] cannot be reached from the root"
    )
    with pytest.raises(ValueError, match=message):
        function(graphs)


@pytest.mark.parametrize("kind", ["single", "multi"])
def test_the_reason_is_found_soon_in_large_graphs(kind, function):
    """Where every node would have to be tried as the root's child, one by one."""
    size = 1000
    graph = torch.zeros(size + 1, size + 1).tril(-1).log()  # no edges but those made now
    node = torch.arange(1, size)
    graph[node, node + 1] = 0.0
    graph[0] = 0.0
    middle = 600
    graph[: middle if kind == "multi" else middle - 1, middle] = -torch.inf
    graph[1:, middle] = -torch.inf
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"no spanning tree"):
        function(graph, root=kind)
    assert time.perf_counter() - start < 10.0
