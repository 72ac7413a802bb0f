# %% [markdown]
# # Who infected whom
#
# A public-health team knows when the people of an outbreak fell ill and, from contact tracing, some
# of those they met. It wants to know who infected whom, how many others everybody infected, and how
# often the disease came in from outside.
#
# Each case has one infector or was infected outside, and nobody is their own ancestor. So the
# answer is a spanning tree whose root is the outside world, with one edge from the root per
# introduction (`root="multi"`). This notebook simulates an outbreak, computes the exact posterior
# over all transmission trees, and compares it with the truth.
#
# **Model.** People infected outside fall ill at a constant rate. Every case infects a Poisson
# number of others, each of whom falls ill a *serial interval* after their infector. Where people
# infect others before their own symptoms, as with COVID-19, serial intervals can be zero or
# negative: Du and others (2020) found a mean of 3.96 and a standard deviation of 4.75 days in 468
# pairs; we take the normal distribution, rounded to days. As in the contact model of *outbreaker2*
# (Campbell and others, 2019), tracing finds the contact between infector and infected with a high
# probability, and one between any two other cases with a low one. The posterior of the tree is then
# *exactly* a product over its edges:
#
# $$ P(\text{tree} \mid \text{data}) \;\propto\; \prod_{\text{outside} \to j} \lambda
#    \prod_{i \to j} R\, f(t_j - t_i)\, \ell_{ij} $$
#
# with importation rate λ, reproduction number R, serial interval distribution f, onset days t, and
# the likelihood ratio ℓ of what tracing found between i and j.

# %%
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Generator, Tensor

import spantree as st
from spantree.extras import load

plt = load("matplotlib.pyplot", extra="plot", purpose="to draw the pictures")
OUT = Path("out")
OUT.mkdir(exist_ok=True)
torch.set_default_dtype(torch.float64)


class Setting(NamedTuple):
    """What is known about the disease and about contact tracing."""

    reproduction: float = 1.0  # R, expected secondary cases of a case
    importation: float = 0.15  # introductions a day, while the border is open
    open_days: int = 21
    mean_interval: float = 3.96  # serial interval in days
    sd_interval: float = 4.75
    traced: float = 0.85  # probability that tracing finds the contact of infector and infected
    chance: float = 0.04  # the same for any other two cases


class Outbreak(NamedTuple):
    """Onset days ``(n,)``, traced contacts ``(n, n)``, infectors ``(n,)``; entry 0 is outside."""

    onset: Tensor
    contact: Tensor
    infector: Tensor


# %% [markdown]
# ## A simulated outbreak
#
# The simulation draws a branching process. Cases are numbered by day of onset, in random order
# within a day, so that numbers reveal nothing.


# %%
def interval_log_probs(setting: Setting) -> Tensor:
    """Log-probabilities of serial intervals of -10, ..., 20 days."""
    day = torch.arange(-10, 21)
    normal = torch.distributions.Normal(setting.mean_interval, setting.sd_interval)
    return (normal.cdf(day + 0.5) - normal.cdf(day - 0.5)).log().log_softmax(0)


def simulate(setting: Setting, generator: Generator, smallest: int, largest: int) -> Outbreak:
    """Draw outbreaks until one ends with a number of cases in ``smallest..largest``."""
    interval = interval_log_probs(setting).exp()
    while True:
        rate = torch.tensor([setting.importation * setting.open_days, setting.reproduction])
        imports = int(torch.poisson(rate[0], generator=generator))
        onset = torch.randint(setting.open_days, (imports,), generator=generator).tolist()
        infector = [0] * imports
        case = 0
        while case < len(onset) <= largest:
            infected = int(torch.poisson(rate[1], generator=generator))
            if infected:
                drawn = torch.multinomial(interval, infected, True, generator=generator) - 10
                onset += (onset[case] + drawn).tolist()
                infector += [case + 1] * infected
            case += 1
        if smallest <= len(onset) <= largest:
            return observe(setting, torch.tensor(onset), torch.tensor(infector), generator)


def observe(setting: Setting, onset: Tensor, infector: Tensor, generator: Generator) -> Outbreak:
    """Number the cases by onset, with ties in random order, and trace their contacts."""
    n = len(onset) + 1
    order = (onset + torch.rand(n - 1, generator=generator)).argsort()
    number = torch.zeros(n, dtype=torch.int64)
    number[order + 1] = torch.arange(1, n)
    infector = number[infector[order]]
    linked = torch.zeros(n, n, dtype=torch.bool)
    linked[infector, torch.arange(1, n)] = True
    probability = torch.where(linked | linked.T, setting.traced, setting.chance)
    contact = (torch.rand(n, n, generator=generator) < probability).triu(1)
    contact[0] = False
    outside = torch.tensor([-1])
    return Outbreak(
        torch.cat([outside, onset[order]]), contact | contact.T, torch.cat([outside, infector])
    )


def edge_log_weights(onset: Tensor, contact: Tensor, setting: Setting) -> Tensor:
    """Log-likelihood of every possible transmission, ``(..., n, n)``, [infector, infected]."""
    interval = onset[..., None, :] - onset[..., :, None]
    possible = (interval >= -10) & (interval <= 20)
    log_interval = interval_log_probs(setting)[(interval + 10).clamp(0, 30)]
    found = torch.tensor(setting.traced / setting.chance).log()
    missed = torch.tensor((1 - setting.traced) / (1 - setting.chance)).log()
    within = torch.as_tensor(setting.reproduction).log() + log_interval
    within = within + torch.where(contact, found, missed)
    within = within.masked_fill(~possible, -torch.inf)
    open_border = (onset >= 0) & (onset < setting.open_days)
    log_importation = torch.as_tensor(setting.importation).log()
    outside = torch.where(open_border, log_importation, -torch.inf)
    return torch.cat([outside[..., None, :], within[..., 1:, :]], dim=-2)


setting = Setting()
outbreak = simulate(setting, Generator().manual_seed(3), 24, 24)
log_weights = edge_log_weights(outbreak.onset, outbreak.contact, setting)
cases = len(log_weights) - 1
true_introductions = int((outbreak.infector == 0).sum())
print(f"{cases} cases over {int(outbreak.onset[1:].max() - outbreak.onset[1:].min()) + 1} days,")
print(f"{true_introductions} introductions, {int(outbreak.contact.sum()) // 2} traced contacts")

# %% [markdown]
# ## The posterior of the transmission tree
#
# One object answers everything below. The probability that i infected j is the marginal of an edge.

# %%
posterior = st.SpanningTree(log_weights, root="multi")
infector_probability = posterior.marginals
best = posterior.mode

print(f"log evidence  {posterior.log_partition:8.3f}")
print(f"entropy       {posterior.entropy():8.3f} nats: as uncertain as", end=" ")
print(f"{posterior.entropy().exp():,.0f} equally likely trees")
print(f"most likely tree: probability {posterior.log_prob(best).exp():.4f}")
print()
print("case  onset  likeliest infectors                            truth")
for case in range(1, cases + 1):
    likely = infector_probability[:, case].topk(3)
    shown = [
        f"{'outside' if i == 0 else f'case {i}'} {p:.2f}"
        for p, i in zip(likely.values.tolist(), likely.indices.tolist(), strict=True)
    ]
    truth = int(outbreak.infector[case])
    print(
        f"{case:4d} {int(outbreak.onset[case]):5d}   " + "".join(f"{x:15s}" for x in shown), end=""
    )
    print("  outside" if truth == 0 else f"  case {truth}")

# %% [markdown]
# ## Why the tree matters
#
# Wallinga and Teunis (2004) let every case choose its infector independently, in proportion to the
# likelihood: each column of the weights is normalised by itself. If every infector falls ill before
# those infected, that is the same posterior: no choice can close a cycle. With serial intervals
# that may be negative, two cases can each be the other's likeliest infector, and independent
# choices contradict each other. The sum over trees of normalised weights is the probability that
# they do not.

# %%
log_choice = log_weights.clone().fill_diagonal_(-torch.inf)[:, 1:].log_softmax(0)
independent = torch.cat([torch.full((cases + 1, 1), -torch.inf), log_choice], dim=1)
consistent = st.log_partition(independent, root="multi").exp()
print(f"independent infectors form a transmission tree with probability {consistent:.2g}")

difference = (independent.exp() - infector_probability).abs()
_, infected = divmod(int(difference.argmax()), cases + 1)
print(f"they differ most about case {infected}:")
for case in infector_probability[:, infected].topk(3).indices.tolist():
    name = "outside" if case == 0 else f"case {case}"
    chosen, exact = independent[case, infected].exp(), infector_probability[case, infected]
    print(f"  infected by {name:8s} independent {chosen:.3f}   tree {exact:.3f}")

# %% [markdown]
# ## Secondary cases
#
# The number of people whom i infected is the out-degree of i: a sum over the edges of the tree, one
# feature per person. Its expectation is of first order and its covariance of second order; both are
# exact. Secondary cases of two people are negatively correlated if they compete for the same ones.

# %%
secondary_of = torch.eye(cases + 1)[:, None, :].expand(
    -1, cases + 1, -1
)  # [i, j, person]: i == person
expected = posterior.expectation(secondary_of)
covariance = posterior.covariance(secondary_of)
sd = covariance.diagonal().sqrt()
true_secondary = torch.bincount(outbreak.infector[1:], minlength=cases + 1).double()

print("case   expected ± sd   truth")
for case in expected[1:].argsort(descending=True)[:6].add(1).tolist():
    print(f"{case:4d}   {expected[case]:8.2f} ± {sd[case]:.2f}   {int(true_secondary[case]):3d}")
correlation = covariance / (sd * sd[:, None])
rival = int(correlation.fill_diagonal_(0)[1:, 1:].nan_to_num().argmin())
first, second = rival // cases + 1, rival % cases + 1
print(f"cases {first} and {second} compete: correlation {correlation[first, second]:.2f}")
print(f"introductions  {expected[0]:.2f} ± {sd[0]:.2f}   {true_introductions}")

# %% [markdown]
# ## Posterior trees
#
# What is not a sum over edges is read off exact samples: here the length of the longest chain of
# transmission. The samples also give credible intervals of the number of introductions and of the
# *cohort reproduction number*: the mean number of secondary cases of those who fell ill in a week.
# Its mean and standard deviation follow from expectation and covariance without sampling.


# %%
def generations(heads: Tensor) -> Tensor:
    """Generation of every case in trees ``(..., n)``: 1 for an introduction."""
    above = heads.clamp_min(0)
    depth = torch.zeros_like(heads)
    for _ in range(heads.shape[-1]):
        reached = torch.where(heads > 0, depth.gather(-1, above) + 1, (heads == 0).long())
        if torch.equal(reached, depth):
            break
        depth = reached
    return depth


def interval95(values: Tensor) -> str:
    low, high = values.double().quantile(torch.tensor([0.025, 0.975]), dim=0).tolist()
    return f"95% interval {low:.3g} to {high:.3g}"


trees = posterior.sample((4000,), generator=Generator().manual_seed(1))
introductions = (trees == 0).sum(-1)
longest = generations(trees).amax(-1)
secondary = torch.nn.functional.one_hot(trees[:, 1:], cases + 1).sum(1).double()

week = (outbreak.onset[1:] - outbreak.onset[1:].min()) // 7
cohort = torch.nn.functional.one_hot(week).double()  # (cases, weeks)
size = cohort.sum(0)
cohort = cohort[:, size > 0] / size[size > 0]
weeks = (week.unique() + 1).tolist()
cohort_mean = expected[1:] @ cohort
cohort_sd = (cohort.T @ covariance[1:, 1:] @ cohort).diagonal().clamp_min(0).sqrt()
cohort_truth = true_secondary[1:] @ cohort
cohort_sampled = secondary[:, 1:] @ cohort

print(f"introductions: {interval95(introductions)}, truth {true_introductions}")
print(f"longest chain: {interval95(longest)}, truth {int(generations(outbreak.infector).max())}")
for k, number in enumerate(weeks):
    print(f"R of week {number}: {cohort_mean[k]:.2f} ± {cohort_sd[k]:.2f},", end=" ")
    print(f"{interval95(cohort_sampled[:, k])}, truth {cohort_truth[k]:.2f}")

# %% [markdown]
# ## The transmission timeline
#
# Every possible transmission is an arc from infector to infected whose opacity is its probability.
# True transmissions are orange: a faint orange arc is a truth that the data do not support. Discs
# are filled by the probability of an introduction, and ringed orange if it was one.

# %%
BLUE, ORANGE, GREY = "#2a6db0", "#e07b00", "#888888"
arrow = {"arrowstyle": "-|>", "mutation_scale": 8, "connectionstyle": "arc3,rad=-0.3"}
arrow |= {"shrinkA": 4, "shrinkB": 4}

figure, (timeline, side) = plt.subplots(
    1, 2, sharey=True, figsize=(11, 7), dpi=80, width_ratios=[3, 1], layout="constrained"
)
onset = outbreak.onset.tolist()
for i in range(1, cases + 1):
    for j in range(1, cases + 1):
        probability = float(infector_probability[i, j])
        true = int(outbreak.infector[j]) == i
        if probability < 0.02 and not true:
            continue
        timeline.annotate(
            "",
            (onset[j], j),
            (onset[i], i),
            arrowprops=arrow
            | {
                "color": ORANGE if true else BLUE,
                "alpha": max(probability, 0.15 * true),
                "linewidth": 0.8 + 1.2 * probability,
            },
        )
for j in range(1, cases + 1):
    ring = ORANGE if outbreak.infector[j] == 0 else GREY
    fill = plt.matplotlib.colors.to_rgba(GREY, float(infector_probability[0, j]))
    timeline.scatter(onset[j], j, s=45, color="white", zorder=3)
    timeline.scatter(onset[j], j, s=45, color=[fill], edgecolor=ring, linewidth=1.6, zorder=4)
timeline.set_xlabel("day of onset")
timeline.set_ylabel("case")
timeline.set_yticks(range(1, cases + 1))
timeline.set_ylim(cases + 0.8, 0.2)
timeline.set_title("Who infected whom: opacity = posterior probability", loc="left")
handle = plt.matplotlib.lines.Line2D
disc = {"marker": "o", "linestyle": "", "markersize": 7}
timeline.legend(
    handles=[
        handle([], [], color=ORANGE, label="true transmission"),
        handle([], [], color=BLUE, label="other possible transmission"),
        handle([], [], color=GREY, label="introduction, filled by probability", **disc),
        handle([], [], color="none", markeredgecolor=ORANGE, label="true introduction", **disc),
    ],
    loc="upper right",
    frameon=False,
)
person = range(1, cases + 1)
side.errorbar(
    expected[1:].numpy(),
    person,
    xerr=sd[1:].numpy(),
    fmt="o",
    color=BLUE,
    capsize=2,
    label="mean ± sd",
)
side.plot(true_secondary[1:].numpy(), person, "D", color=ORANGE, fillstyle="none", label="truth")
side.set_xlim(left=-0.3)
side.set_xlabel("people infected")
side.set_title("Secondary cases", loc="left")
side.legend(frameon=False)
for axes in (timeline, side):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#eeeeee")
    axes.set_axisbelow(True)
figure.savefig(OUT / "outbreak.png")

# %% [markdown]
# ## Are the probabilities right?
#
# One outbreak proves little. Over many simulated ones, infectors given probability p should be the
# true ones in a share p of all cases: the posterior should be *calibrated*. Outbreaks of different
# sizes go into one batch, with their `lengths`. Independent infectors are less well calibrated, and
# give the true transmission tree less probability, by just the logarithm of how rarely they form a
# tree.


# %%
def batch_of(outbreaks: list[Outbreak]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Onsets, contacts and infectors, padded, and the numbers of cases."""
    lengths = torch.tensor([len(o.onset) - 1 for o in outbreaks])
    n = int(lengths.max()) + 1
    onset, infector = (torch.zeros(len(outbreaks), n, dtype=torch.int64) for _ in range(2))
    contact = torch.zeros(len(outbreaks), n, n, dtype=torch.bool)
    for k, o in enumerate(outbreaks):
        m = len(o.onset)
        onset[k, :m], contact[k, :m, :m], infector[k, :m] = o.onset, o.contact, o.infector
    return onset, contact, infector, lengths


def reliability(probability: Tensor, true: Tensor, bins: int = 10) -> tuple[Tensor, Tensor, Tensor]:
    """Mean probability, share of true ones and the latter's standard error, by bins."""
    number = (probability * bins).long().clamp_max(bins - 1)
    count = torch.bincount(number, minlength=bins).clamp_min(1)
    mean = torch.bincount(number, probability, minlength=bins) / count
    share = torch.bincount(number, true.double(), minlength=bins) / count
    return mean, share, (mean * (1 - mean) / count).sqrt()


mild = Setting(reproduction=0.7)
generator = Generator().manual_seed(4)
outbreaks = [simulate(mild, generator, 1, 60) for _ in range(300)]
onsets, contacts, infectors, lengths = batch_of(outbreaks)
many_log_weights = edge_log_weights(onsets, contacts, mild)
many = st.SpanningTree(many_log_weights, lengths, root="multi")

nodes = torch.arange(onsets.shape[-1])
real = (nodes >= 1) & (nodes <= lengths[:, None])
usable = (real | (nodes == 0))[:, :, None] & real[:, None, :] & (nodes[:, None] != nodes)
usable &= many_log_weights > -torch.inf
true_edge = nodes[:, None] == infectors[:, None, :]
chosen = many_log_weights.where(usable, -torch.inf).softmax(-2).where(usable, 0)

log_tree = many.log_prob(infectors)
log_independent = chosen.where(usable & true_edge, 1).log().sum((-2, -1))
calibrated = reliability(many.marginals[usable], true_edge[usable])
uncalibrated = reliability(chosen[usable], true_edge[usable])

from_outside = torch.zeros_like(many_log_weights[0])
from_outside[0] = 1
surprise = (infectors == 0).where(real, 0).sum(-1) - many.expectation(from_outside)
standardised = surprise / many.covariance(from_outside).sqrt()
standardised = standardised[standardised.isfinite()]

print(f"{len(outbreaks)} outbreaks, {int(lengths.sum())} cases")
print("probability   true: tree   true: independent")
for low in range(10):
    print(f"  {low / 10:.1f} to {low / 10 + 0.1:.1f}", end="")
    print(f"      {calibrated[1][low]:.3f}         {uncalibrated[1][low]:.3f}")
print(f"mean log-probability of the true tree  {log_tree.mean():.2f}", end="")
print(f", of the true infectors chosen independently  {log_independent.mean():.2f}")
print(f"introductions, (truth - mean) / sd: mean {standardised.mean():.2f}", end=", ")
print(f"sd {standardised.std():.2f}")

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), dpi=80, layout="constrained")
count = torch.bincount(introductions)
left.bar(range(len(count)), (count / len(trees)).numpy(), color=BLUE, width=0.8)
left.axvline(true_introductions, color=ORANGE, linewidth=2, label="truth")
left.set(xlabel="number of introductions", ylabel="posterior probability")
left.set_xlim(0.4, len(count) - 0.4)

low, high = cohort_sampled.quantile(torch.tensor([0.025, 0.975]), dim=0)
middle.vlines(
    weeks, low.numpy(), high.numpy(), color=BLUE, linewidth=5, alpha=0.3, label="95% interval"
)
middle.errorbar(
    weeks, cohort_mean.numpy(), yerr=cohort_sd.numpy(), fmt="o", color=BLUE, label="mean ± sd"
)
middle.plot(weeks, cohort_truth.numpy(), "D", color=ORANGE, fillstyle="none", label="truth")
middle.axhline(1, color=GREY, linewidth=0.8)
middle.set(xlabel="week of onset", ylabel="cohort reproduction number")
middle.set_ylim(top=3.4)

right.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
for (mean, share, error), colour, name in (
    (uncalibrated, GREY, "independent"),
    (calibrated, BLUE, "transmission tree"),
):
    right.errorbar(
        mean.numpy(),
        share.numpy(),
        yerr=2 * error.numpy(),
        fmt="o-",
        color=colour,
        capsize=2,
        label=name,
    )
right.set(xlabel="probability given to an infector", ylabel="share of true infectors")
for axes in (left, middle, right):
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left" if axes is not left else "upper right")
figure.savefig(OUT / "outbreak_checks.png")

# %% [markdown]
# ## Learning the epidemic's parameters
#
# The sum over all trees, Z, is the likelihood of the data as a function of the parameters: no tree
# needs to be imputed. It is differentiable, so that the reproduction number, the importation rate
# and the serial interval are found by gradient descent, and standard errors from the second
# derivatives. (A branching process of n cases also has the factor exp(-λ days - R n): that nobody
# else was infected; and we have only seen outbreaks with a case, of probability 1 - exp(-λ days).)

# %%
guess = Setting(reproduction=1.5, importation=0.05, mean_interval=6.0, sd_interval=3.0)
names = ["reproduction", "importation", "mean_interval", "sd_interval"]


def negative_log_likelihood(log_parameters: Tensor) -> Tensor:
    """Of all outbreaks, from the logarithms of the parameters in ``names``."""
    trial = guess._replace(**dict(zip(names, log_parameters.exp(), strict=True)))
    weights = edge_log_weights(onsets, contacts, trial)
    log_z = st.log_partition(weights, lengths, root="multi")
    imports = trial.importation * trial.open_days
    nobody_else = imports + trial.reproduction * lengths
    at_least_one = -torch.expm1(-imports)
    return (nobody_else - log_z + at_least_one.log()).sum()


log_parameters = torch.tensor([getattr(guess, name) for name in names]).log().requires_grad_()
optimiser = torch.optim.LBFGS([log_parameters], max_iter=20, line_search_fn="strong_wolfe")


def closure() -> Tensor:
    """Loss per case; its gradient as a side effect."""
    optimiser.zero_grad()
    loss = negative_log_likelihood(log_parameters) / lengths.sum()
    loss.backward()
    return loss


optimiser.step(closure)
information = torch.autograd.functional.hessian(negative_log_likelihood, log_parameters.detach())
estimate = log_parameters.detach().exp()
standard_error = estimate * information.inverse().diagonal().sqrt()
print(f"parameters from {len(outbreaks)} outbreaks without one known transmission")
print("                start   estimate ± se      truth")
for name, value, error in zip(names, estimate.tolist(), standard_error.tolist(), strict=True):
    print(f"{name:14s} {getattr(guess, name):6.2f}   {value:.3f} ± {error:.3f}", end="")
    print(f"   {getattr(mild, name):.3f}")

# %% [markdown]
# ## What the model leaves out
#
# The posterior is exact for this model. Three refinements keep it a product over edges: known
# covariates of infector or infected (age, ward, vaccination), mutations between the genomes of the
# two, and any serial interval distribution. Unknown differences in infectiousness (superspreading
# as a negative binomial number of secondary cases) and unobserved cases do not.
#
# **Sources.** Wallinga and Teunis, *American Journal of Epidemiology* 160 (2004), on who infected
# whom from onset times; Du and others, *Emerging Infectious Diseases* 26 (2020), on serial
# intervals; Campbell and others, *PLoS Computational Biology* 15 (2019), on contact data.
