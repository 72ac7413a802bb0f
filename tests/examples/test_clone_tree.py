"""What the clone-tree example claims, against mpmath, brute force and the simulated truth."""

import math

import torch
from torch import Generator, Tensor

import spantree as st
from tests.reference import exact_inference
from tests.tolerances import assert_close, assert_within


def test_weights_span_hundreds_of_orders_of_magnitude(clone_tree):
    assert clone_tree["spread"] > 300


def test_probabilities_agree_with_mpmath(clone_tree):
    log_weights, probability = clone_tree["log_weights"], clone_tree["probability"]
    exact = exact_inference(log_weights, "single").marginals
    assert_within(probability, exact, 1e-12)
    assert_within(clone_tree["exact"], exact, 1e-15)


def test_textbook_in_double_precision_fails(clone_tree):
    error = (clone_tree["double"] - clone_tree["exact"]).abs().max()
    assert error.isnan() or error > 0.1
    assert max(clone_tree["errors"]["spantree"]) < 1e-14
    assert max(clone_tree["errors"]["textbook"]) > 1.0


def test_textbook_is_right_where_loci_are_few(clone_tree):
    """So what fails is the arithmetic, and not the formula."""
    assert clone_tree["errors"]["textbook"][0] < 1e-9
    assert clone_tree["digit_errors"][-1] == 0.0


def test_probabilities_of_six_clones_agree_with_enumeration(clone_tree):
    log_weights = clone_tree["log_weights"][:7, :7]
    posterior = st.SpanningTree(log_weights, root="single")
    trees = posterior.enumerate_support()
    score = log_weights[trees[:, 1:], torch.arange(1, 7)].sum(-1)
    weight = score.softmax(0)
    marginals = torch.einsum("t,tij->ij", weight, posterior.edge_indicator(trees).double())
    assert_within(posterior.marginals, marginals, 1e-11)
    assert_close(clone_tree["in_decimals"](log_weights, 3000), posterior.marginals)


def test_edge_log_weights_are_sums_over_genotypes(clone_tree):
    parents = [-1, 0, 1, 1]
    reads = clone_tree["simulate"](parents, [1], 6, 3.0, Generator().manual_seed(0))
    actual = clone_tree["edge_log_weights"](reads)
    for a in range(4):
        for b in range(1, 4):
            if a != b:
                expected = pairwise(clone_tree, reads, a, b)
                assert_close(actual[a, b], torch.tensor(expected))


def pairwise(example, reads, parent: int, child: int) -> float:
    """Log P(reads of the child | reads of its parent) over that of a child without mutations."""
    rates = (example["ERROR"], 0.5)

    def likelihood(clone, locus, genotype):
        depth, variant = (int(x[clone - 1, locus]) for x in reads)
        return rates[genotype] ** variant * (1 - rates[genotype]) ** (depth - variant)

    branches = []
    for gain, loss in (example["SHORT"], example["LONG"]):
        change = ((1 - gain, gain), (loss, 1 - loss))
        product = 1.0
        for locus in range(reads.depth.shape[1]):
            carries = [1.0, 0.0]
            if parent:
                prior = (1 - example["MUTATED"], example["MUTATED"])
                carries = [prior[g] * likelihood(parent, locus, g) for g in (0, 1)]
            total = sum(
                carries[g] / sum(carries) * change[g][h] * likelihood(child, locus, h)
                for g in (0, 1)
                for h in (0, 1)
            )
            product *= total / likelihood(child, locus, 0)
        branches.append(product)
    return math.log(sum(branches) / 2)


def test_ancestors(clone_tree):
    # One tree: normal -> 1 -> 2 -> 3, and 4, ..., 10 below 1.
    heads = torch.tensor([[-1, 0, 1, 2, *[1] * 7]])
    descent = clone_tree["ancestors"](heads)
    expected = torch.zeros_like(descent)
    expected[1, 2:] = 1.0
    expected[2, 3] = 1.0
    assert torch.equal(descent[1:, 1:], expected[1:, 1:])


def test_descent_is_at_least_as_probable_as_parenthood(clone_tree):
    error = 4.5 * (0.25 / len(clone_tree["samples"])) ** 0.5
    descent, parent = clone_tree["descent"][1:, 1:], clone_tree["probability"][1:, 1:]
    assert (descent >= parent - error).all()


def random_case(example, generator: Generator, clones: int) -> tuple[Tensor, Tensor]:
    """True parents, drawn from all trees alike, and log-weights, of clones numbered at random."""
    heads = st.sample_trees(torch.zeros(clones + 1, clones + 1), generator=generator).tolist()
    order = [0]
    for node in order:
        order += [child for child in range(1, clones + 1) if heads[child] == node]
    parents = [-1] + [order.index(heads[node]) for node in order[1:]]
    chance = torch.rand(clones, generator=generator)
    long = [clone for clone in range(1, clones + 1) if chance[clone - 1] < 0.5]
    reads = example["simulate"](parents, long, 600, 60.0, generator)
    back = torch.tensor(order[1:]).argsort()
    shuffled = type(reads)(reads.depth[back], reads.variant[back])
    return torch.tensor(heads), example["edge_log_weights"](shuffled)


def test_parents_are_calibrated(clone_tree):
    """A posterior gives the truth the probability that it gives a draw of its own, on average."""
    generator = Generator().manual_seed(0)
    differences, certainty = [], []
    for _ in range(60):
        heads, log_weights = random_case(clone_tree, generator, clones=5)
        marginals = st.edge_marginals(log_weights)[:, 1:]
        of_truth = marginals[heads[1:], torch.arange(5)]
        differences.append((of_truth - marginals.square().sum(0)).sum())
        certainty.append(of_truth.mean())
    difference = torch.stack(differences)
    assert difference.mean().abs() < 4 * difference.std() / len(difference) ** 0.5
    assert 0.5 < torch.stack(certainty).mean() < 0.99
