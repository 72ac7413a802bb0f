"""The rivals are honest: right where the arithmetic lets them be, and only there."""

import pytest
import torch

from spantree import SpanningTree, edge_marginals, log_partition
from spantree.demo.confidence import confidence_trials
from spantree.demo.race import race
from spantree.demo.rivals import (
    past_entropy,
    textbook_entropy,
    textbook_log_partition,
    textbook_marginals,
)
from tests.tolerances import assert_close


@pytest.fixture
def graphs() -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    log_weights = torch.randn(4, 7, 7, dtype=torch.float64, generator=generator)
    log_weights[0, 2, 3] = log_weights[1, 0, 5] = -torch.inf
    return log_weights


def test_the_textbook_agrees_on_gentle_graphs(graphs):
    assert_close(textbook_log_partition(graphs), log_partition(graphs))
    assert_close(textbook_marginals(graphs), edge_marginals(graphs))


@pytest.mark.parametrize("rival", [textbook_entropy, past_entropy])
def test_entropies_and_their_gradients_agree_on_gentle_graphs(rival, graphs):
    graphs.requires_grad_()
    theirs, ours = rival(graphs), SpanningTree(graphs).entropy()
    assert_close(theirs, ours)
    (gradient,) = torch.autograd.grad(theirs.sum(), graphs)
    (expected,) = torch.autograd.grad(ours.sum(), graphs)
    assert_close(gradient, expected)


def test_a_confident_graph_breaks_the_textbook_alone():
    generator = torch.Generator().manual_seed(0)
    graph = torch.randn(8, 8, dtype=torch.float64, generator=generator)
    graph[2, 3] = graph[3, 2] = 4.0  # each is the other's best head, which no tree can grant
    first, last = confidence_trials(graph, (1, 200))
    assert first.error < 1e-12
    assert not last.error < 0.1  # wrong, or not a number
    for trial in (first, last):
        assert trial.library[0] == 0.0
        assert 0.0 < trial.library[1] <= 1.0 + 1e-12


def test_a_race_ends_and_leaves_the_threads_as_they_were(threads):
    laps = list(race((3, 5)))
    assert [lap.nodes for lap in laps] == [3, 5]
    assert all(seconds > 0 for lap in laps for seconds in lap[1:])
    assert torch.get_num_threads() == threads
