"""What there is to know of a graph's trees, gathered."""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from spantree.checks import Root
from spantree.graphs.counting import count_trees
from spantree.graphs.named import NamedGraph

__all__ = ["Findings", "find"]

Stage = Callable[[str], AbstractContextManager[object]]


@dataclass(frozen=True)
class Findings:
    """Answers about one graph.

    Attributes:
        graph: the graph.
        rule: the root rule, ``"multi"`` or ``"single"``.
        log_partition: log Z.
        entropy: of the distribution, in nats.
        tree_count: the number of trees, or None where it is not known exactly.
        log_tree_count: its logarithm.
        marginals: ``(n, n)`` probabilities of edges.
        best: ``(n,)`` heads of the most probable tree.
        best_log_probability: its log-probability.
        top: ``(k, n)`` heads of the best trees in order; fewer if there are not so many.
        top_log_probabilities: ``(k,)``.
        samples: ``(s, n)`` heads.
    """

    graph: NamedGraph
    rule: Root
    log_partition: float
    entropy: float
    tree_count: int | None
    log_tree_count: float
    marginals: Tensor
    best: Tensor
    best_log_probability: float
    top: Tensor
    top_log_probabilities: Tensor
    samples: Tensor

    @property
    def probabilities(self) -> Tensor:
        """``(E,)`` the probability of each edge, in the order of ``graph.edge_indices``."""
        return self.graph.values(self.marginals)

    def most_certain(self, count: int) -> list[dict[str, Any]]:
        """The most probable edges."""
        return self._edges((-self.probabilities).argsort(stable=True)[:count])

    def least_certain(self, count: int) -> list[dict[str, Any]]:
        """The edges whose probability is closest to 1/2."""
        return self._edges((self.probabilities - 0.5).abs().argsort(stable=True)[:count])

    def tree_edges(self, heads: Tensor) -> list[tuple[Hashable, Hashable]]:
        """The edges (head, dependent) of a tree."""
        return [(parent, child) for child, parent in self.graph.name_tree(heads).items()]

    def summary(self, show: int = 5) -> dict[str, Any]:
        """All but the table of edges, as JSON can hold it.

        Args:
            show: how many of the most and the least certain edges.
        """
        graph = self.graph
        top = zip(self.top, self.top_log_probabilities.tolist(), strict=True)
        return {
            "nodes": len(graph),
            "edges": graph.edge_count,
            "root": graph.root,
            "root_rule": self.rule,
            "undirected": graph.undirected,
            "ignored": asdict(graph.ignored),
            "log_partition": self.log_partition,
            "entropy": self.entropy,
            "tree_count": self.tree_count,
            "log_tree_count": self.log_tree_count,
            "most_certain": self.most_certain(show),
            "least_certain": self.least_certain(show),
            "best_tree": self._tree(self.best, self.best_log_probability),
            "topk": [self._tree(heads, log_probability) for heads, log_probability in top],
            "samples": [self.tree_edges(heads) for heads in self.samples],
        }

    def _tree(self, heads: Tensor, log_probability: float) -> dict[str, Any]:
        return {"log_probability": log_probability, "edges": self.tree_edges(heads)}

    def _edges(self, chosen: Tensor) -> list[dict[str, Any]]:
        names, probabilities = self.graph.names, self.probabilities[chosen].tolist()
        pairs = self.graph.edge_indices[chosen].tolist()
        return [
            {"source": names[i], "target": names[j], "probability": p}
            for (i, j), p in zip(pairs, probabilities, strict=True)
        ]


def find(
    graph: NamedGraph,
    rule: Root = "multi",
    *,
    topk: int = 0,
    samples: int = 0,
    seed: int = 0,
    stage: Stage = nullcontext,
) -> Findings:
    """Answers all questions about a graph; O(n³).

    Args:
        graph: the graph.
        rule: the root rule.
        topk: how many of the best trees.
        samples: how many exact samples.
        seed: of the samples: those of ``sample((samples,), Generator().manual_seed(seed))``.
        stage: called with the name of what is done next, and entered while it is.
    """
    with torch.no_grad():
        with stage("log Z and edge probabilities"):
            d = graph.distribution(rule)
            log_partition, marginals = float(d.log_partition), d.marginals
        with stage("entropy"):
            entropy = float(d.entropy())
        with stage("number of trees"):
            count, log_count = count_trees(graph, rule)
        with stage("best trees"):
            top, log_probabilities = d.topk(max(1, topk))
        drawn = torch.empty(0, len(graph), dtype=torch.int64)
        if samples:
            with stage("samples"):
                drawn = d.sample((samples,), torch.Generator().manual_seed(seed))
    there = log_probabilities[:topk] > -torch.inf
    return Findings(
        graph=graph,
        rule=rule,
        log_partition=log_partition,
        entropy=entropy,
        tree_count=count,
        log_tree_count=log_count,
        marginals=marginals,
        best=top[0],
        best_log_probability=float(log_probabilities[0]),
        top=top[:topk][there],
        top_log_probabilities=log_probabilities[:topk][there],
        samples=drawn,
    )
