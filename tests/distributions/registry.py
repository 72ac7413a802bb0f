"""Every distribution, with example parameters: what holds for all is tested over this list."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

import spantree as st
from tests.brute import BruteForce
from tests.graphs import random_graphs, random_lengths

__all__ = ["EXAMPLES", "Example", "exported_distributions", "labeled_graphs"]


class Example(NamedTuple):
    """A distribution by name, and how it is made."""

    name: str
    kind: type[Distribution]
    log_weights: Tensor
    options: dict[str, Any]

    def make(self, log_weights: Tensor | None = None, **more: Any) -> Any:
        """The distribution, of other weights or with further options if asked."""
        theta = self.log_weights if log_weights is None else log_weights
        return self.kind(theta, **{**self.options, **more})

    def brute(self) -> BruteForce:
        """The same, by enumeration."""
        labeled = self.kind is st.LabeledSpanningTree
        return BruteForce(self.log_weights, labeled=labeled, **self.options)


def exported_distributions() -> set[type[Distribution]]:
    """The distributions among the public names."""
    public = (getattr(st, name) for name in st.__all__)
    return {x for x in public if isinstance(x, type) and issubclass(x, Distribution)}


def labeled_graphs(
    batch_shape: tuple[int, ...], num_nodes: int, labels: int, *, forbidden: float = 0.0
) -> Tensor:
    """Log-weights ``(*batch, n, n, Y)``; of an edge that is there, one label at least."""
    plain = random_graphs(batch_shape, num_nodes, forbidden=forbidden)
    generator = torch.Generator().manual_seed(17)
    more = torch.randn(*plain.shape, labels, generator=generator, dtype=torch.float64)
    dropped = torch.rand(more.shape, generator=generator) < forbidden
    dropped[..., 0] = False
    # Not always the same label.
    order = torch.rand(more.shape, generator=generator).argsort(-1)
    return plain[..., None] + more.masked_fill(dropped.gather(-1, order.argsort(-1)), -torch.inf)


def _examples() -> list[Example]:
    plain, labeled = st.SpanningTree, st.LabeledSpanningTree
    ragged = {"lengths": random_lengths((2, 3), 4)}
    return [
        Example("one graph", plain, random_graphs((), 4), {}),
        Example("multi-root", plain, random_graphs((3,), 4), {"root": "multi"}),
        Example("one node", plain, random_graphs((2,), 1), {}),
        Example("sparse", plain, random_graphs((2,), 5, forbidden=0.6), {}),
        Example("ragged", plain, random_graphs((2, 3), 4), ragged),
        Example("labelled", labeled, labeled_graphs((), 3, 3), {}),
        Example("labelled multi-root", labeled, labeled_graphs((3,), 3, 2), {"root": "multi"}),
        Example("labelled sparse", labeled, labeled_graphs((2,), 4, 2, forbidden=0.5), {}),
        Example("labelled ragged", labeled, labeled_graphs((2, 3), 4, 2), ragged),
    ]


EXAMPLES = _examples()
