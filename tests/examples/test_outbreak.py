"""What the outbreak example claims, against closed forms, brute force and the simulated truth."""

import math

import torch
from torch import Generator

import spantree as st
from tests.tolerances import assert_close, assert_within


def small_outbreak(example, seed=0, cases=4):
    setting = example["Setting"]()
    outbreak = example["simulate"](setting, Generator().manual_seed(seed), cases, cases)
    return outbreak, setting


def interval_probability(setting, days):
    """The serial interval's distribution, from the error function of the standard library."""

    def below(x):
        return 0.5 * math.erfc((setting.mean_interval - x) / (setting.sd_interval * math.sqrt(2)))

    total = below(20.5) - below(-10.5)
    return (below(days + 0.5) - below(days - 0.5)) / total if -10 <= days <= 20 else 0.0


def likelihood(setting, onset, contact, tree):
    """Of onsets and contacts given a tree, up to what all trees share; contacts pair by pair."""
    result = 1.0
    for case in range(1, len(onset)):
        infector = tree[case]
        if infector == 0:
            result *= setting.importation * (0 <= onset[case] < setting.open_days)
        else:
            days = onset[case] - onset[infector]
            result *= setting.reproduction * interval_probability(setting, days)
        for other in range(1, case):
            linked = tree[case] == other or tree[other] == case
            p = setting.traced if linked else setting.chance
            result *= p if contact[case][other] else 1 - p
    return result


def test_posterior_is_the_normalised_likelihood_of_all_trees(outbreak):
    for seed in range(5):
        small, setting = small_outbreak(outbreak, seed)
        log_weights = outbreak["edge_log_weights"](small.onset, small.contact, setting)
        posterior = st.SpanningTree(log_weights, root="multi")
        trees = posterior.enumerate_support()
        data = small.onset.tolist(), small.contact.tolist()
        joint = torch.tensor([likelihood(setting, *data, tree) for tree in trees.tolist()])
        assert_close(posterior.log_prob(trees).exp(), joint / joint.sum())


def test_every_tree_that_the_model_can_draw_is_possible(outbreak):
    for seed in range(20):
        drawn, setting = small_outbreak(outbreak, seed, cases=12)
        log_weights = outbreak["edge_log_weights"](drawn.onset, drawn.contact, setting)
        posterior = st.SpanningTree(log_weights, root="multi")
        assert posterior.log_prob(drawn.infector) > -torch.inf
        assert (drawn.onset[1:-1] <= drawn.onset[2:]).all()
        assert torch.equal(drawn.contact, drawn.contact.T)


def test_without_simultaneous_or_negative_intervals_infectors_are_independent(outbreak):
    """Wallinga and Teunis: edges lead forwards in time alone, so no choice closes a cycle."""
    onset = outbreak["outbreak"].onset
    backwards = onset[:, None] >= onset
    backwards[0] = False
    log_weights = outbreak["log_weights"].masked_fill(backwards, -torch.inf)
    independent = log_weights.softmax(0)
    independent[:, 0] = 0.0
    assert_within(st.edge_marginals(log_weights, root="multi"), independent, 1e-12)


def test_independent_infectors_seldom_form_a_tree(outbreak):
    drawn = outbreak["independent"].exp()
    assert_close(drawn[:, 1:].sum(0), torch.ones(outbreak["cases"]))
    heads = torch.multinomial(drawn[:, 1:].T, 20000, True, generator=Generator().manual_seed(0)).T
    heads = torch.cat([torch.full((20000, 1), -1), heads], dim=1)
    trees = st.SpanningTree(torch.zeros_like(drawn), root="multi").support.check(heads)
    share, expected = trees.double().mean(), outbreak["consistent"]
    assert expected < 0.05
    assert (share - expected).abs() < 4 * (expected / 20000).sqrt()


def test_secondary_cases_are_the_averages_of_sampled_trees(outbreak):
    sampled, trees = outbreak["secondary"], len(outbreak["trees"])
    centred = sampled - outbreak["expected"]
    error = outbreak["sd"] / trees**0.5
    assert (centred.mean(0).abs() <= 4.5 * error + 1e-12).all()
    products = centred[:, :, None] * centred[:, None, :]
    error = products.std(0) / trees**0.5
    deviation = (products.mean(0) - outbreak["covariance"]).abs()
    assert (deviation <= 5 * error + 0.002).all()
    assert_close(outbreak["expected"].sum(), torch.tensor(float(outbreak["cases"])))
    # All cases have one infector: the numbers of secondary cases always have the same sum.
    assert_within(outbreak["covariance"].sum(0), torch.zeros(outbreak["cases"] + 1), 1e-11)


def test_cohort_reproduction_numbers_agree_with_sampled_trees(outbreak):
    sampled, sd = outbreak["cohort_sampled"], outbreak["cohort_sd"]
    error = sd / len(sampled) ** 0.5
    assert ((sampled.mean(0) - outbreak["cohort_mean"]).abs() <= 4.5 * error + 1e-12).all()
    assert_within(sampled.std(0), sd, 0.1 * sd + 0.01)


def test_generations(outbreak):
    heads = torch.tensor([[-1, 0, 1, 2, 0], [-1, 2, 3, 4, 0]])
    expected = torch.tensor([[0, 1, 2, 3, 1], [0, 4, 3, 2, 1]])
    assert torch.equal(outbreak["generations"](heads), expected)


def test_infector_probabilities_are_calibrated_and_independent_ones_are_not(outbreak):
    mean, share, error = outbreak["calibrated"]
    assert ((share - mean).abs() <= 4 * error).all()
    mean, share, error = outbreak["uncalibrated"]
    assert ((share - mean).abs() > 4 * error).any()
    assert outbreak["standardised"].mean().abs() < 4 / len(outbreak["standardised"]) ** 0.5
    assert 0.8 < outbreak["standardised"].std() < 1.2


def test_independence_costs_the_logarithm_of_how_rarely_it_gives_a_tree(outbreak):
    chosen, many = outbreak["chosen"].log(), outbreak["many"]
    consistent = st.log_partition(chosen, outbreak["lengths"], root="multi")
    gain = outbreak["log_tree"] - outbreak["log_independent"]
    assert (gain >= -1e-12).all()
    assert_close(gain, -consistent, factor=100)
    assert len(gain) == len(many.log_partition)


def test_parameters_are_recovered_within_their_standard_errors(outbreak):
    truth = torch.tensor([getattr(outbreak["mild"], name) for name in outbreak["names"]])
    distance = (outbreak["estimate"] - truth) / outbreak["standard_error"]
    assert (distance.abs() < 3).all()
    assert (outbreak["standard_error"] < 0.1 * truth).all()
