"""Covariances of sparse features by r̂ and ŝ: all ways agree, in blocks of any size."""

import pytest
import torch

from spantree.inference import hats
from spantree.inference.covariances import covariance
from spantree.inference.ensemble import Ensemble
from spantree.inference.features import features_of
from spantree.inference.gradient_form import GradientForm
from tests.graphs import random_directions, random_graphs, random_lengths
from tests.tolerances import assert_within


def random_sparse(like: torch.Tensor, size: int, share: float, seed: int) -> torch.Tensor:
    drawn = random_directions(size, like, seed)
    return (drawn * (drawn.abs() < share)).movedim(0, -1).to_sparse()


@pytest.mark.parametrize("labels", [0, 2])
@pytest.mark.parametrize("shared", [(False, False), (True, False), (True, True)], ids=str)
@pytest.mark.parametrize("at_once", [1, 100, 2**17])
def test_equals_the_accurate_way(labels, shared, at_once, root, monkeypatch):
    monkeypatch.setattr(hats, "PAIRS_AT_ONCE", at_once)
    log_weights = random_graphs((2, 2), 5, forbidden=0.3)
    if labels:
        log_weights = log_weights[..., None] + torch.randn(labels, dtype=torch.float64)
    lengths = random_lengths((2, 2), 5)
    ensemble = Ensemble.of(log_weights, lengths, root, None, labeled=bool(labels))
    like = [log_weights[0, 0] if alone else log_weights for alone in shared]
    r, s = (random_sparse(x, 7 + k, 0.3, seed=k) for k, x in enumerate(like))
    expected = covariance(ensemble, r, s, method="exact")
    left, right = (features_of("r", x, ensemble.log_weights, ensemble.edge_axes) for x in (r, s))
    actual = hats.sparse_covariance(GradientForm.of(ensemble), left, right)
    assert_within(actual, expected, 1e-12)


@pytest.mark.parametrize("at_once", [10, 2**17])
def test_derivatives(at_once, root, monkeypatch):
    monkeypatch.setattr(hats, "PAIRS_AT_ONCE", at_once)
    log_weights = random_graphs((2,), 4, forbidden=0.2)
    r, s = random_sparse(log_weights[0], 5, 0.3, seed=0), random_sparse(log_weights, 4, 0.3, seed=1)

    def by_hats(theta: torch.Tensor) -> torch.Tensor:
        ensemble = Ensemble.of(theta, None, root, False)
        left, right = (features_of("r", x, ensemble.log_weights) for x in (r, s))
        return hats.sparse_covariance(GradientForm.of(ensemble), left, right).square().sum()

    def exactly(theta: torch.Tensor) -> torch.Tensor:
        ensemble = Ensemble.of(theta, None, root, False)
        return covariance(ensemble, r, s, method="exact").square().sum()

    expected = torch.func.jacrev(exactly)(log_weights)
    assert_within(torch.func.jacrev(by_hats)(log_weights), expected, 1e-12)
    assert_within(torch.func.jacfwd(by_hats)(log_weights), expected, 1e-12)
    expected = torch.func.hessian(exactly)(log_weights)
    assert_within(torch.func.hessian(by_hats)(log_weights), expected, 1e-11)


def test_one_feature_for_each_edge(root):
    log_weights = random_graphs((3,), 20, forbidden=0.2)
    ensemble = Ensemble.of(log_weights, None, root, None)
    edges = torch.eye(21 * 21, dtype=torch.float64).reshape(21, 21, -1).to_sparse()
    found = {m: covariance(ensemble, edges, method=m) for m in ("auto", "exact", "gradient")}
    assert_within(found["gradient"], found["exact"], 1e-12)
    assert_within(found["auto"], found["exact"], 1e-12)


def test_features_without_a_number(root):
    log_weights = random_graphs((3,), 20)
    ensemble = Ensemble.of(log_weights, None, root, None)
    nothing = torch.sparse_coo_tensor(
        torch.zeros(3, 0, dtype=torch.int64), torch.zeros(0), (21, 21, 400), check_invariants=True
    )
    edges = torch.eye(21 * 21, dtype=torch.float64).reshape(21, 21, -1).to_sparse()
    for r, s in ((nothing, nothing), (nothing, edges), (edges, nothing)):
        result = covariance(ensemble, r, s, method="gradient")
        assert result.shape == (3, r.shape[-1], s.shape[-1])
        assert (result == 0.0).all()


def test_what_the_gradient_form_cannot_tell_is_told_by_the_accurate_way(root):
    log_weights = random_graphs((2,), 5)
    edges = torch.eye(36, dtype=torch.float64).reshape(6, 6, -1).to_sparse()
    log_weights[1, 1, 2] = log_weights[1, 2, 1] = 2000.0
    ensemble = Ensemble.of(log_weights, None, root, None)
    found = [covariance(ensemble, edges, method=m) for m in ("gradient", "exact")]
    assert torch.equal(found[0], found[1])
    log_weights[1, :, 2] = -torch.inf
    ensemble = Ensemble.of(log_weights, None, root, True)
    with pytest.raises(ValueError, match="no spanning tree exists"):
        covariance(ensemble, edges, method="gradient")
