# %% [markdown]
# # Who infected whom
#
# Public-health teams know when the people of an outbreak fell ill and, from contact tracing, some of
# whom they met. They want to know who infected whom, how many others everybody infected, and how
# often the disease came in from outside.
#
# Each case has one infector, or was infected outside, and nobody is their own ancestor: the answer
# is a spanning tree whose root is the outside world, with an edge from the root for every
# introduction. This notebook simulates an outbreak, computes the exact posterior of the whole
# transmission tree, and compares it with the truth.
#
# **Model.** People infected outside fall ill at a constant rate. Every case infects a Poisson number
# of others, each of whom falls ill a *serial interval* after their infector. Where people infect
# others before their own symptoms, as with COVID-19, serial intervals can be zero or negative: Du
# and others (2020) fit a normal distribution of mean 3.96 and standard deviation 4.75 days, which we
# round to days. As in the contact model of *outbreaker2* (Campbell and others, 2019), tracing finds
# the contact of infector and infected with one probability, and of any other two cases with a much
# smaller one. Under this model the posterior of the tree is *exactly* a product over its edges:
#
# $$ P(\text{tree} \mid \text{data}) \;\propto\; \prod_{\text{outside} \to j} \lambda
#    \prod_{i \to j} R\, f(t_j - t_i)\, \ell(c_{ij}) $$
#
# for importation rate λ, reproduction number R, serial interval distribution f, onset days t, and
# the likelihood ratio ℓ of what tracing found.

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
    """Onset days ``(n,)``, contacts ``(n, n)`` and true infectors ``(n,)``; entry 0 is outside."""

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


def edge_log_weights(outbreak: Outbreak, setting: Setting) -> Tensor:
    """Log-likelihood of every possible transmission, ``(n, n)``, [infector, infected]."""
    onset, contact = outbreak.onset, outbreak.contact
    interval = onset - onset[:, None]
    possible = (interval >= -10) & (interval <= 20)
    log_interval = interval_log_probs(setting)[(interval + 10).clamp(0, 30)]
    found = torch.tensor(setting.traced / setting.chance).log()
    missed = torch.tensor((1 - setting.traced) / (1 - setting.chance)).log()
    log_weights = torch.tensor(setting.reproduction).log() + log_interval
    log_weights = log_weights + torch.where(contact, found, missed)
    log_weights = log_weights.masked_fill(~possible, -torch.inf)
    open_border = (onset >= 0) & (onset < setting.open_days)
    log_importation = torch.tensor(setting.importation).log()
    log_weights[0] = torch.where(open_border, log_importation, -torch.inf)
    return log_weights
