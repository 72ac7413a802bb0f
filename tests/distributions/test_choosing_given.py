"""Choosing trees of which something is known: every method against every tree that agrees."""

from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

import spantree as st
from tests.distributions.every_tree import (
    KINDS,
    LABELS,
    Oracle,
    garbage_around,
    graphs,
    parts,
    seeded,
)
from tests.frequencies import assert_fits
from tests.graphs import random_graphs
from tests.tolerances import assert_close


class Knowledge(NamedTuple):
    """Something known of a tree, as `condition` is told it, and as a test of a tree."""

    condition: Any
    fine: Any


def _mask(*edges: tuple[int, int]) -> Tensor:
    mask = torch.zeros(5, 5, dtype=torch.bool)
    for edge in edges:
        mask[edge] = True
    return mask


def _label_mask(*edges: tuple[int, int, int]) -> Tensor:
    mask = torch.zeros(4, 4, LABELS, dtype=torch.bool)
    for edge in edges:
        mask[edge] = True
    return mask


PLAIN = {
    "nothing": Knowledge(lambda d: d, None),
    "required": Knowledge(lambda d: d.condition(required=_mask((3, 2))), lambda h, _: h[2] == 3),
    "forbidden": Knowledge(
        lambda d: d.condition(forbidden=_mask((3, 2), (0, 1), (2, 4))),
        lambda h, _: h[2] != 3 and h[1] != 0 and h[4] != 2,
    ),
    "heads": Knowledge(
        lambda d: d.condition(torch.tensor([-1, 4, -1, 2, -1])),
        lambda h, _: h[1] == 4 and h[3] == 2,
    ),
    "the root's child": Knowledge(
        lambda d: d.condition(torch.tensor([-1, -1, -1, 0, -1])), lambda h, _: h[3] == 0
    ),
    "all at once, and in turn": Knowledge(
        lambda d: (
            d.condition(torch.tensor([-1, -1, 3, -1, -1]))
            .condition(required=_mask((3, 4)))
            .condition(forbidden=_mask((0, 1)))
        ),
        lambda h, _: h[2] == 3 and h[4] == 3 and h[1] != 0,
    ),
    "the whole tree": Knowledge(
        lambda d: d.condition(torch.tensor([-1, 3, 1, 0, 3])), lambda h, _: h[1:] == [3, 1, 0, 3]
    ),
}
LABELLED = {
    "nothing": Knowledge(lambda d: d, None),
    "required with either of two labels": Knowledge(
        lambda d: d.condition(required=_label_mask((3, 2, 0), (3, 2, 2))),
        lambda h, y: h[2] == 3 and y[2] != 1,
    ),
    "forbidden with a label": Knowledge(
        lambda d: d.condition(forbidden=_label_mask((3, 2, 1), (0, 1, 0))),
        lambda h, y: (h[2], y[2]) != (3, 1) and (h[1], y[1]) != (0, 0),
    ),
    "heads": Knowledge(
        lambda d: d.condition(torch.tensor([-1, 2, -1, -1])), lambda h, _: h[1] == 2
    ),
    "heads and labels": Knowledge(
        lambda d: d.condition((torch.tensor([-1, 2, -1, -1]), torch.tensor([-1, 1, -1, 0]))),
        lambda h, y: h[1] == 2 and y[1] == 1 and y[3] == 0,
    ),
}
CASES = [("plain", name) for name in PLAIN] + [("labelled", name) for name in LABELLED]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def known(request: pytest.FixtureRequest, root: str) -> tuple[Any, Oracle]:
    """A distribution given some knowledge, and the trees that agree with it."""
    kind, name = request.param
    log_weights = graphs(kind, (), 4 if kind == "plain" else 3, forbidden=0.05, scale=1.0)
    knowledge = (PLAIN if kind == "plain" else LABELLED)[name]
    distribution = knowledge.condition(KINDS[kind](garbage_around(kind, log_weights), root=root))
    return distribution, Oracle.of(log_weights, root, knowledge.fine)


class TestEverythingKnown:
    """Under no condition and under every kind of condition."""

    def test_mode(self, known):
        d, oracle = known
        assert torch.equal(parts(d.mode), oracle.trees[0])
        tree, score = d.argmax(return_score=True)
        assert torch.equal(parts(tree), oracle.trees[0])
        assert torch.equal(parts(d.argmax()), oracle.trees[0])
        assert_close(score, oracle.scores[0])
        assert_close(d.log_prob(d.mode), oracle.log_probs[0])

    def test_topk(self, known):
        d, oracle = known
        k = len(oracle.trees) + 2
        trees, log_probs = d.topk(k)
        assert torch.equal(parts(trees)[:-2], oracle.trees)
        assert (parts(trees)[-2:] == -1).all()
        assert_close(log_probs[:-2], oracle.log_probs)
        assert (log_probs[-2:] == -torch.inf).all()
        fewer, first = d.topk(1)
        assert torch.equal(parts(fewer), parts(trees)[:1])
        assert torch.equal(first, log_probs[:1])

    def test_mbr(self, known):
        d, oracle = known
        # Edges agree if head and label, where there is one, do.
        agree = (oracle.trees[:, None] == oracle.trees[None]).all(-2)[..., 1:].sum(-1)
        gains = agree.double() @ oracle.log_probs.exp()
        assert_close(gains[oracle.number(parts(d.mbr()))], gains.amax())

    def test_sample(self, known):
        d, oracle = known
        drawn = oracle.number(parts(d.sample((30_000,), seeded())))
        assert_fits(drawn.bincount(minlength=len(oracle.trees)), oracle.log_probs.exp())

    def test_sample_without_replacement(self, known):
        d, oracle = known
        k = len(oracle.trees) + 2
        trees, log_probs = d.sample_without_replacement(k, seeded())
        number = oracle.number(parts(trees)[:-2])
        assert torch.equal(number.sort().values, torch.arange(len(oracle.trees)))
        assert_close(log_probs[:-2], oracle.log_probs[number])
        assert (parts(trees)[-2:] == -1).all()
        assert (log_probs[-2:] == -torch.inf).all()

    def test_first_without_replacement_is_a_sample(self, known):
        d, oracle = known
        copies = d.expand((4000,))
        trees, _ = copies.sample_without_replacement(1, seeded())
        drawn = oracle.number(parts(trees)[0])
        assert_fits(drawn.bincount(minlength=len(oracle.trees)), oracle.log_probs.exp())

    def test_perturb_and_map(self, known):
        d, oracle = known
        assert torch.equal(parts(d.perturb_and_map(0.0)), oracle.trees[0])
        noisy = oracle.number(parts(d.perturb_and_map(5.0, (2000,), seeded())))
        assert len(noisy.unique()) >= min(3, len(oracle.trees))
        slightly = oracle.number(parts(d.perturb_and_map(1e-9, (50,), seeded())))
        assert (slightly == 0).all()


def test_perturb_and_map_of_one_edge_each_is_a_sample():
    """Where nodes choose independently Gumbel noise draws exactly (Gumbel 1954)."""
    log_weights = random_graphs((), 3, scale=1.0)
    log_weights[[1, 2, 3, 3], [2, 1, 1, 2]] = -torch.inf  # heads are 0, and 1 or 2 for node 3
    d = st.SpanningTree(log_weights, root="multi")
    oracle = Oracle.of(log_weights, "multi")
    drawn = oracle.number(parts(d.perturb_and_map(1.0, (50_000,), seeded())))
    assert_fits(drawn.bincount(minlength=len(oracle.trees)), oracle.log_probs.exp())
