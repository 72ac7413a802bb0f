"""What distributions say where there is nothing to choose, or too little to choose with."""

from typing import Any

import pytest
import torch
from torch import Generator

import spantree as st
from tests.distributions.every_tree import KINDS, Oracle, graphs, parts, seeded
from tests.tolerances import assert_close


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


class TestErrors:
    @pytest.fixture
    def d(self, kind: str) -> Any:
        return KINDS[kind](graphs(kind, (2,), 3))

    def test_fewer_than_one_best_tree(self, d):
        for k in (0, -1):
            with pytest.raises(ValueError, match=f"k must be at least 1, got {k}$"):
                d.topk(k)
        with pytest.raises(TypeError, match=r"k must be an int, got 2\.0"):
            d.topk(2.0)

    def test_a_negative_number_of_trees(self, d):
        with pytest.raises(ValueError, match=r"k must be at least 0, got -1$"):
            d.sample_without_replacement(-1)
        with pytest.raises(TypeError, match="k must be an int, got True"):
            d.sample_without_replacement(True)
        for draw in (d.sample, lambda shape: d.perturb_and_map(1.0, shape)):
            with pytest.raises(
                ValueError, match="a size in sample_shape must be at least 0, got -1"
            ):
                draw((2, -1))
            with pytest.raises(
                TypeError, match=r"sample_shape must be a sequence of integers .* got int"
            ):
                draw(3)

    def test_a_generator_that_is_none(self, d):
        class Elsewhere(Generator):
            device = torch.device("cuda:0")

        for draw in (
            lambda g: d.sample((2,), g),
            lambda g: d.sample_without_replacement(2, g),
            lambda g: d.perturb_and_map(1.0, (2,), g),
        ):
            with pytest.raises(
                TypeError, match=r"generator must be a torch\.Generator or None, got int"
            ):
                draw(3)
            with pytest.raises(
                ValueError,
                match="generator must be on the CPU, where trees are drawn, got device cuda:0",
            ):
                draw(Elsewhere())

    @pytest.mark.parametrize("scale", [-1.0, torch.inf, torch.nan])
    def test_noise_of_no_scale(self, d, scale):
        with pytest.raises(
            ValueError, match=f"noise_scale must be a finite number >= 0, got {scale}"
        ):
            d.perturb_and_map(scale)

    def test_noise_of_no_number(self, d):
        with pytest.raises(TypeError, match="noise_scale must be a number, got str"):
            d.perturb_and_map("1")

    choices = (
        lambda d: d.mode,
        lambda d: d.argmax(return_score=True),
        lambda d: d.topk(2),
        lambda d: d.mbr(),
        lambda d: d.sample((2,)),
        lambda d: d.sample_without_replacement(2),
        lambda d: d.perturb_and_map(),
    )
    names = ("mode", "argmax", "topk", "mbr", "sample", "distinct", "noise")

    @pytest.mark.parametrize("choose", choices, ids=names)
    def test_constraints_that_no_tree_meets(self, choose, kind, root):
        d = KINDS[kind](graphs(kind, (2,), 3), root=root)
        several = st.SpanningTree(graphs("plain", (2,), 3), root=root)
        edges = torch.zeros(2, 4, 4, dtype=torch.bool)
        cycle, orphan, rivals, roots = edges.clone(), edges.clone(), edges.clone(), edges.clone()
        cycle[1, 1, 2] = cycle[1, 2, 1] = True
        orphan[1, :, 3] = True
        rivals[1, 1, 3] = rivals[1, 2, 3] = True
        roots[1, 0, :3] = True
        axis = (lambda mask: mask) if kind == "plain" else (lambda mask: mask[..., None])
        nowhere = r"no spanning tree exists for batch item \(1,\): nodes \[{}\] cannot be reached"
        with pytest.raises(ValueError, match=nowhere.format("1, 2")):
            choose(d.condition(required=axis(cycle)))
        with pytest.raises(ValueError, match=nowhere.format("3")):
            choose(d.condition(forbidden=axis(orphan)))
        with pytest.raises(ValueError, match=nowhere.format("3")):
            choose(d.condition(required=axis(rivals)))
        if root == "single":
            with pytest.raises(
                ValueError,
                match=r"no spanning tree with a single root edge exists for batch item \(1,\)",
            ):
                choose(d.condition(required=axis(roots)))
        else:
            assert several.condition(required=roots).mode[1].tolist()[1:3] == [0, 0]

    @pytest.mark.parametrize("choose", choices, ids=names)
    def test_a_partial_tree_that_cannot_be(self, choose, kind, root):
        d = KINDS[kind](graphs(kind, (2,), 3), root=root)
        with pytest.raises(ValueError, match="node 1 is in a cycle"):
            choose(d.condition(torch.tensor([-1, 2, 1, -1])))
        forbidden = d.log_weights.clone()
        forbidden[:, 3, 1] = -torch.inf
        with pytest.raises(ValueError, match=r"no spanning tree exists for batch item \(0,\)"):
            choose(KINDS[kind](forbidden, root=root).condition(torch.tensor([-1, 3, -1, -1])))

    def test_without_validation(self, kind, root):
        """No tree: -1 and -inf for this item, and nothing else changes for the others."""
        log_weights = graphs(kind, (3,), 3)
        spoilt = log_weights.clone()
        spoilt[1, :, 2] = -torch.inf
        d = KINDS[kind](spoilt, root=root, validate_args=False)
        fine = KINDS[kind](log_weights, root=root)
        others = torch.tensor([0, 2])
        for trees, log_probs in (d.topk(2), d.sample_without_replacement(2)):
            assert (parts(trees)[:, 1] == -1).all()
            assert (log_probs[:, 1] == -torch.inf).all()
            for item in others.tolist():
                oracle = Oracle.of(log_weights[item], root)
                number = oracle.number(parts(trees)[:, item])
                assert_close(log_probs[:, item], oracle.log_probs[number])
        for choose in (
            lambda d: d.mode,
            lambda d: d.mbr(),
            lambda d: d.sample((2,), seeded()),
            lambda d: d.perturb_and_map(1.0, (2,), seeded()),
        ):
            trees, expected = parts(choose(d)), parts(choose(fine))
            assert (trees[..., 1, :, :] == -1).all()
            assert (trees[..., others, :, 1:] >= 0).all()
            assert torch.equal(trees[..., others, :, :], expected[..., others, :, :])
        assert d.argmax(return_score=True)[1][1] == -torch.inf

    def test_not_a_number_without_validation(self, kind, root):
        log_weights = graphs(kind, (2,), 3)
        log_weights[1, 0, 2] = torch.nan
        with pytest.raises(ValueError, match=r"log_weights must not hold NaN"):
            _ = KINDS[kind](log_weights, root=root).mode
        d = KINDS[kind](log_weights, root=root, validate_args=False)
        trees, log_probs = d.topk(2)
        assert (parts(trees)[:, 1] == -1).all()
        assert log_probs[:, 1].isnan().all()
        assert log_probs[:, 0].isfinite().all()
        assert (parts(d.sample())[1] == -1).all()
