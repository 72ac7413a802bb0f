"""Different random trees: each next one drawn from those not drawn yet.

Drawing with replacement and discarding what was seen has exactly this law, and takes
1 / (1 − seen mass) attempts on average. So it is done as long as less than half of the mass is
seen. Then the trees are partitioned by one of those seen (Lawler 1972), into the sets of trees
that agree with it on the nodes before j and differ at j. These are distributions over trees as
well, with edges required and forbidden; their masses are log partition functions, computed and not
subtracted. The same is done with every part: an attempt picks a part in proportion to its mass, and
succeeds with probability 1/2 at least.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Generator, Tensor

from spantree.checks import check_count, check_generator
from spantree.inference.ensemble import Ensemble
from spantree.inference.sampling import sample
from spantree.inference.trees import node_mask

__all__ = ["sample_without_replacement"]

DRAWS_AT_ONCE = 1024  # from one part, at most
ENTRIES_AT_ONCE = 2**24  # log-weights of parts


def sample_without_replacement(
    ensemble: Ensemble, k: int, generator: Generator | None
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Draw k different trees, in the order of drawing.

    Args:
        ensemble: the graphs; with labels, trees differ if an edge or a label does.
        k: how many. Beyond the number of trees there are, heads are -1 and log-probabilities -inf.
        generator: on the CPU.

    Returns:
        Heads and, with labels, labels, each ``(k, *batch, n)``, and the log-probabilities
        ``(k, *batch)`` of the trees in the original distribution. Once most of the mass is seen a
        tree costs up to N partition functions.
    """
    check_count("k", k, least=0)
    check_generator(generator)
    ensemble = ensemble.reweighted(ensemble.log_weights.detach())
    log_partition = ensemble.log_partition()  # raises where no tree exists
    choices = _Choices(ensemble)
    totals = log_partition.flatten().tolist()
    urns = [_Urn(item, choices.n, k, total) for item, total in enumerate(totals)]
    while wanting := [urn for urn in urns if urn.draw(generator)]:
        _split(choices, [urn for urn in wanting if urn.splitting])
        _refill(choices, [urn for urn in wanting if urn.picked], generator)
    trees = torch.full((k, len(urns), choices.n), -1)
    log_weights = torch.full((k, len(urns)), -torch.inf, dtype=torch.float64)
    for urn in urns:
        for rank, (tree, log_weight) in enumerate(urn.drawn):
            trees[rank, urn.item] = torch.from_numpy(tree)
            log_weights[rank, urn.item] = log_weight
    device, batch = ensemble.log_weights.device, ensemble.batch_shape
    log_probs = log_weights.reshape(k, *batch).to(device) - log_partition.where(
        log_partition > -torch.inf, 0.0
    )
    heads, labels = choices.decode(trees.reshape(k, *batch, choices.n).to(device))
    return heads, labels, log_probs.to(ensemble.log_weights.dtype)


class _Choices:
    """A batch of graphs as choices: each node chooses its head, and its label, by one number.

    A tree is a vector of choices, -1 for the root and padding.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self.ensemble = ensemble
        self.n = n = ensemble.edge_shape[0]
        self.labels = ensemble.edge_shape[2] if ensemble.edge_axes == 3 else 1
        flat = ensemble.log_weights.cpu().reshape(-1, n, n, self.labels)
        # [item, node, choice], the choice being head * labels + label
        self.log_weights = flat.transpose(1, 2).reshape(-1, n, n * self.labels)
        lengths = ensemble.lengths
        self.lengths = None if lengths is None else lengths.cpu().flatten()
        self.real = node_mask(n, self.lengths, torch.device("cpu")).expand(len(flat), n)

    def restricted(self, parts: list["_Part"]) -> Tensor:
        """The log-weights ``(P, n, choices)`` of trees in each part."""
        required = torch.from_numpy(np.stack([part.required for part in parts]))[..., None]
        other = torch.arange(self.log_weights.shape[-1]) != required
        result = self.log_weights[[part.item for part in parts]]
        result = result.masked_fill(other & (required >= 0), -torch.inf)
        forbidden = [(p, *pair) for p, part in enumerate(parts) for pair in part.forbidden]
        if forbidden:
            result[tuple(torch.tensor(forbidden).T)] = -torch.inf
        return result

    def graphs(self, log_weights: Tensor, items: list[int]) -> Ensemble:
        """Such log-weights as graphs."""
        shaped = log_weights.reshape(-1, self.n, self.n, self.labels).transpose(1, 2)
        if self.ensemble.edge_axes == 2:
            shaped = shaped.squeeze(-1)
        lengths = None if self.lengths is None else self.lengths[items]
        question = self.ensemble.question._replace(batch_shape=(len(items),), validate=False)
        return replace(
            self.ensemble, log_weights=shaped.contiguous(), lengths=lengths, question=question
        )

    def encode(self, heads: Tensor, labels: Tensor | None) -> Tensor:
        """Trees as choices."""
        choices = heads if labels is None else heads * self.labels + labels
        return choices.where(heads >= 0, -1)

    def decode(self, trees: Tensor) -> tuple[Tensor, Tensor | None]:
        """Choices as heads and labels."""
        if self.ensemble.edge_axes == 2:
            return trees, None
        heads = trees.div(self.labels, rounding_mode="floor")
        return heads, trees.remainder(self.labels).where(trees >= 0, -1)


@dataclass(eq=False)
class _Part:
    """The trees of one graph that make the required choices and none of the forbidden."""

    item: int
    log_mass: float
    required: np.ndarray  # by node, -1 where any choice will do
    forbidden: list[tuple[int, int]] = field(default_factory=list)
    seen: dict[bytes, tuple[np.ndarray, float]] = field(default_factory=dict)
    seen_share: float = 0.0
    waiting: Iterator[tuple[np.ndarray, float]] = field(default_factory=lambda: iter(()))

    def see(self, key: bytes, found: tuple[np.ndarray, float]) -> None:
        self.seen[key] = found
        self.seen_share += math.exp(found[1] - self.log_mass)

    def weigh(self, log_mass: float) -> None:
        self.log_mass = log_mass
        if self.seen:
            self.seen_share = math.fsum(math.exp(x - log_mass) for _, x in self.seen.values())


class _Urn:
    """What is still to be drawn of one graph."""

    def __init__(self, item: int, n: int, k: int, log_mass: float) -> None:
        self.item, self.k = item, k
        self.drawn: list[tuple[np.ndarray, float]] = []
        whole = _Part(item, log_mass, np.full(n, -1))
        self.parts = [whole] if log_mass > -math.inf else []
        self.picked: _Part | None = None
        self.splitting: _Part | None = None

    def draw(self, generator: Generator | None) -> bool:
        """Draws until it has all, which returns False, or a part must be refilled or split."""
        self.splitting = None
        while len(self.drawn) < self.k and self.parts:
            part = self.picked = self.picked or self._pick(generator)
            found = next(part.waiting, None)
            if found is None:
                return True  # and the part stays picked: to pick again would favour the others
            self.picked = None
            key = found[0].tobytes()
            if key in part.seen:
                continue
            self.drawn.append(found)
            part.see(key, found)
            if part.seen_share >= 0.5:
                self.parts.remove(part)
                self.splitting = part
                return True
        return False

    def share(self, part: _Part) -> float:
        """The part's share of all that is left, seen or not."""
        top = max(p.log_mass for p in self.parts)
        total = math.fsum(math.exp(p.log_mass - top) for p in self.parts)
        return math.exp(part.log_mass - top) / total

    def _pick(self, generator: Generator | None) -> _Part:
        if len(self.parts) == 1:
            return self.parts[0]
        log_masses = np.array([part.log_mass for part in self.parts])
        sums = np.exp(log_masses - log_masses.max()).cumsum()
        point = float(torch.rand((), generator=generator, dtype=torch.float64))
        return self.parts[int(np.searchsorted(sums, point * sums[-1], side="right"))]


def _refill(choices: _Choices, urns: list[_Urn], generator: Generator | None) -> None:
    """Draws from the picked parts, as many as are likely to be needed."""
    if not urns:
        return
    parts = [urn.picked for urn in urns if urn.picked]
    needed = [
        (urn.k - len(urn.drawn)) * urn.share(part) for urn, part in zip(urns, parts, strict=True)
    ]
    count = min(DRAWS_AT_ONCE, math.ceil(max(needed)))
    graphs = choices.graphs(choices.restricted(parts), [part.item for part in parts])
    trees = choices.encode(*sample(graphs, (count,), generator)).transpose(0, 1)
    for part, mine in zip(parts, trees, strict=True):
        real = choices.real[part.item]
        along = choices.log_weights[part.item].gather(1, mine.T.clamp_min(0))
        log_weights = along.where(real[:, None], 0.0).sum(0).tolist()
        part.waiting = zip(mine.numpy(), log_weights, strict=True)


def _split(choices: _Choices, urns: list[_Urn]) -> None:
    """Replaces parts that are half seen by parts of them that are not."""
    pending = [(urn, urn.splitting) for urn in urns if urn.splitting]
    while pending:
        families = [(urn, _children(part, choices.real[part.item])) for urn, part in pending]
        children = [child for _, family in families for child in family]
        at_once = max(1, ENTRIES_AT_ONCE // choices.log_weights[0].numel())
        for first in range(0, len(children), at_once):
            some = children[first : first + at_once]
            graphs = choices.graphs(choices.restricted(some), [child.item for child in some])
            for child, log_mass in zip(some, graphs.log_partition().tolist(), strict=True):
                child.weigh(log_mass)
        pending = []
        for urn, family in families:
            for child in family:
                if child.seen_share >= 0.5:
                    pending.append((urn, child))
                elif child.log_mass > -math.inf:
                    urn.parts.append(child)


def _children(part: _Part, real: Tensor) -> list[_Part]:
    """All trees of a part but the heaviest that was seen, by the node where they differ from it."""
    pivot, _ = max(part.seen.values(), key=lambda found: found[1])
    free = np.flatnonzero(real.numpy() & (part.required < 0))
    required = part.required.copy()
    children = []
    for node in free:
        forbidden = [*part.forbidden, (int(node), int(pivot[node]))]
        children.append(_Part(part.item, math.nan, required.copy(), forbidden))
        required[node] = pivot[node]
    for key, found in part.seen.items():
        differs = found[0][free] != pivot[free]
        if differs.any():
            children[int(differs.argmax())].seen[key] = found
    return children
