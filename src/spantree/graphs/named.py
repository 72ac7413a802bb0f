"""A weighted graph whose nodes have names."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from spantree.checks import Root, is_single_root
from spantree.distributions import SpanningTree
from spantree.graphs.problems import GraphError, close_matches
from spantree.graphs.reachability import require_tree

__all__ = ["Ignored", "NamedGraph"]


@dataclass(frozen=True)
class Ignored:
    """What a source of a graph held beside edges that a tree could have.

    Attributes:
        self_loops: edges from a node to itself.
        into_root: edges into the root, of a directed graph.
        zero_weight: edges of weight 0; their nodes are kept.
    """

    self_loops: int = 0
    into_root: int = 0
    zero_weight: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class NamedGraph:
    """A weighted graph with names for its nodes, the root first.

    Dense inside: n² doubles for n nodes. An undirected graph has each edge in both directions and
    any node as its root: the trees that hang from it are the undirected trees, one for one, so that
    neither their probabilities nor their entropy depend on which node that is.

    Attributes:
        log_weights: ``(n, n)`` float64, ``[head, dependent]``; node 0 is the root. ``-inf`` where
            there is no edge. Column 0 and the diagonal are not edges.
        names: n different names, any hashable objects; ``names[0]`` is that of the root.
        undirected: whether an edge and its reverse are one edge.
        ignored: what the source held beside.

    Example:
        >>> import spantree.graphs as graphs
        >>> rows = {"source": ["s", "s", "a", "b"], "target": ["a", "b", "b", "a"],
        ...         "weight": [3.0, 1.0, 1.0, 2.0]}
        >>> graph = graphs.from_table(rows)
        >>> graph
        NamedGraph(nodes=3, edges=4, root='s')
        >>> d = graph.distribution()
        >>> {edge: round(p, 3) for edge, p in graph.edges(d.marginals).items()}
        {('s', 'a'): 0.75, ('s', 'b'): 0.625, ('a', 'b'): 0.375, ('b', 'a'): 0.25}
        >>> graph.name_tree(d.mode)
        {'a': 's', 'b': 's'}
    """

    log_weights: Tensor
    names: tuple[Hashable, ...]
    undirected: bool = False
    ignored: Ignored = field(default_factory=Ignored)

    def __post_init__(self) -> None:
        """Checks shapes and names; the values of the weights are for the distribution to judge."""
        log_weights = torch.as_tensor(self.log_weights).to(torch.float64)
        if log_weights.dim() != 2 or log_weights.shape[0] != log_weights.shape[1]:
            raise ValueError(f"log_weights must have shape (n, n), got {tuple(log_weights.shape)}")
        n, names = len(log_weights), tuple(self.names)
        if n < 2:
            raise GraphError(f"a graph must have a root and another node, got {n} node(s)")
        if len(names) != n:
            raise ValueError(f"names must be {n} like the nodes of log_weights, got {len(names)}")
        if len(set(names)) != n:
            first = next(name for i, name in enumerate(names) if name in names[:i])
            raise GraphError(f"names must be different, got {first!r} twice")
        object.__setattr__(self, "log_weights", log_weights)
        object.__setattr__(self, "names", names)

    def __repr__(self) -> str:
        root, kind = repr(self.names[0]), ", undirected=True" if self.undirected else ""
        return f"NamedGraph(nodes={len(self)}, edges={self.edge_count}, root={root}{kind})"

    def __len__(self) -> int:
        return len(self.names)

    @property
    def root(self) -> Hashable:
        """The name of the root."""
        return self.names[0]

    @cached_property
    def edge_indices(self) -> Tensor:
        """``(E, 2)`` heads and dependents, in the order of `edges`; undirected edges once."""
        present = self.log_weights.detach() > -torch.inf
        present.fill_diagonal_(False)
        present[:, 0] = False
        if self.undirected:
            present = torch.triu(present | present.mT)
        return present.nonzero()

    @property
    def edge_names(self) -> list[tuple[Hashable, Hashable]]:
        """The names (head, dependent) of each edge, in the order of `edge_indices`."""
        return [(self.names[i], self.names[j]) for i, j in self.edge_indices.tolist()]

    @property
    def edge_count(self) -> int:
        """The number of edges; undirected ones count once."""
        return len(self.edge_indices)

    def index(self, name: Hashable) -> int:
        """The index of a node. KeyError, with what may have been meant, if there is none."""
        try:
            return self._positions[name]
        except KeyError:
            hint = close_matches(name, self.names)
            raise KeyError(f"no node is called {name!r}; {hint}") from None

    def distribution(self, root: Root = "multi", validate_args: bool | None = None) -> SpanningTree:
        """The distribution over the spanning trees of this graph.

        Args:
            root: ``"multi"`` for trees with any number of edges from the root, as arborescences
                have; ``"single"`` for exactly one. The trees of an undirected graph are all there
                only with ``"multi"``.
            validate_args: as for `SpanningTree`; unless False, a graph without a tree is an error
                that names the nodes which cannot be reached. O(n²).
        """
        single_root = is_single_root(root)
        if validate_args is not False:
            require_tree(self.log_weights, self.names, single_root=single_root)
        return SpanningTree(self.log_weights, root=root, validate_args=validate_args)

    def values(self, values: Tensor) -> Tensor:
        """``(E,)`` of ``(n, n)`` values, in the order of `edge_indices`.

        For an undirected edge the sum over both directions, which is right for probabilities and
        for whatever else adds up.
        """
        if tuple(values.shape) != tuple(self.log_weights.shape):
            shape = tuple(self.log_weights.shape)
            raise ValueError(f"values must have shape {shape} like log_weights, got "
                             f"{tuple(values.shape)}")  # fmt: skip
        heads, dependents = self.edge_indices.unbind(1)
        found = values[heads, dependents]
        if not self.undirected:
            return found
        # What stands in column 0 belongs to no edge.
        back = values[dependents, heads].masked_fill(heads == 0, 0.0)
        return found + back

    def edges(self, values: Tensor) -> dict[tuple[Hashable, Hashable], float]:
        """The value of each edge, by (head, dependent); see `values` for undirected ones.

        Args:
            values: ``(n, n)``, such as the marginals of the distribution.
        """
        return dict(zip(self.edge_names, self.values(values.detach()).tolist(), strict=True))

    def edge_table(self, **values: Tensor) -> dict[str, list[Any]]:
        """Columns ``source``, ``target``, ``weight``, ``log_weight``, and one for each value given.

        Ready for ``pandas.DataFrame`` or ``polars.DataFrame``. ``(n, n)`` values are as for
        `edges`; ``(E,)`` ones are columns already.
        """
        pairs = self.edge_names
        log_weights = self.log_weights.detach()[tuple(self.edge_indices.unbind(1))]
        table: dict[str, list[Any]] = {
            "source": [pair[0] for pair in pairs],
            "target": [pair[1] for pair in pairs],
            "weight": log_weights.exp().tolist(),
            "log_weight": log_weights.tolist(),
        }
        for name, value in values.items():
            column = value if value.dim() == 1 else self.values(value)
            table[name] = column.detach().tolist()
        return table

    def name_tree(self, heads: Tensor | Sequence[int]) -> dict[Hashable, Hashable]:
        """The tree as ``{child: parent}``, without unknown heads (-1).

        Args:
            heads: ``(n,)``, as a distribution returns them.
        """
        found = heads.tolist() if isinstance(heads, Tensor) else list(heads)
        if len(found) != len(self):
            raise ValueError(f"heads must be {len(self)} like the nodes, got {len(found)}")
        names = self.names
        return {names[j]: names[i] for j, i in enumerate(found) if j > 0 and i >= 0}

    def in_tree(self, heads: Tensor) -> Tensor:
        """``(E,)`` which edges a tree ``(n,)`` has, in the order of `edge_indices`."""
        i, j = self.edge_indices.unbind(1)
        found = heads[j] == i
        return found | (heads[i] == j) if self.undirected else found

    def tree_heads(self, parents: dict[Hashable, Hashable]) -> Tensor:
        """The inverse of `name_tree`: ``(n,)`` heads, -1 for a node without a parent."""
        heads = torch.full((len(self),), -1)
        for child, parent in parents.items():
            heads[self.index(child)] = self.index(parent)
        return heads

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.names)}
