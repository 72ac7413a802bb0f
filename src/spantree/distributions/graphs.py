"""Weighted graphs as a distribution holds them: parameters, log Z, probabilities of edges."""

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions.constraints import Constraint
from torch.distributions.utils import lazy_property

from spantree.checks import Root, check_edges
from spantree.distributions.support import EdgeLogWeights
from spantree.inference.ensemble import Ensemble

__all__ = ["WeightedGraphs"]


class WeightedGraphs(Distribution):
    """A batch of graphs, and what one elimination tells of their trees.

    Results are computed in float64 and rounded at the end to the dtype of the log-weights (float32
    for half precisions). Log Z and the marginals are computed when first needed, and kept with the
    graph of their derivatives.
    """

    _edge_axes: int

    def __init__(
        self,
        log_weights: Tensor,
        lengths: Tensor | None = None,
        *,
        root: Root = "single",
        validate_args: bool | None = None,
    ) -> None:
        ensemble = Ensemble.of(
            log_weights, lengths, root, validate_args, labeled=self._edge_axes == 3
        )
        self._setup(log_weights, lengths, root, ensemble)

    def _setup(
        self, log_weights: Tensor, lengths: Tensor | None, root: Root, ensemble: Ensemble
    ) -> None:
        self.log_weights, self.lengths = log_weights, lengths
        self.root: Root = root
        self._ensemble = ensemble
        # The kernel judges the values as they pass, and says more than a constraint could.
        super().__init__(ensemble.batch_shape, ensemble.edge_shape[:1], validate_args=False)
        self._validate_args = ensemble.question.validate

    @classmethod
    def from_weights(
        cls,
        weights: Tensor,
        lengths: Tensor | None = None,
        *,
        root: Root = "single",
        validate_args: bool | None = None,
    ) -> Self:
        """The distribution with these weights >= 0; 0 forbids an edge, and has gradient 0."""
        check_edges("weights", weights, cls._edge_axes)
        positive = weights > 0
        log_weights = weights.where(positive, 1.0).log().where(positive, -torch.inf)
        # Negative weights and NaN become NaN, which is reported where it is on an edge.
        log_weights = log_weights.where(weights >= 0, torch.nan)
        return cls(log_weights, lengths, root=root, validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Constraint]:  # pyright: ignore
        return {"log_weights": EdgeLogWeights(self.lengths, self._edge_axes)}

    @property
    def log_partition(self) -> Tensor:
        """Log Z ``(*batch,)``."""
        return self._rounded(self._solution[0])

    @property
    def marginals(self) -> Tensor:
        """The probability of every edge, shaped like ``log_weights``; 0 where there is none."""
        return self._rounded(self._solution[1])

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same graphs for further batch axes; what is known already is not computed again."""
        batch_shape = torch.Size(batch_shape)
        new: Any = self._get_checked_instance(type(self), _instance)
        lengths = None if self.lengths is None else self.lengths.expand(batch_shape)
        edge = self._ensemble.edge_shape
        ensemble = self._ensemble.reweighted(self._ensemble.log_weights.expand(*batch_shape, *edge))
        log_weights = self.log_weights.expand(*batch_shape, *edge)
        new._setup(log_weights, lengths, self.root, ensemble)
        if "_solution" in self.__dict__:
            log_partition, marginals = self._solution
            new._solution = (
                log_partition.expand(batch_shape),
                marginals.expand(*batch_shape, *edge),
            )
        return new

    @lazy_property
    def _solution(self) -> tuple[Tensor, Tensor]:
        return self._ensemble.solve()

    @property
    def _dtype(self) -> torch.dtype:
        dtype = self.log_weights.dtype
        return dtype if dtype in (torch.float32, torch.float64) else torch.float32

    def _rounded(self, result: Tensor) -> Tensor:
        return result.to(self._dtype)

    # A copy is made from the parameters: what has been computed belongs to the graph of derivatives
    # of the original.
    def __getstate__(self) -> dict[str, Any]:
        computed = ("_ensemble", "_solution")
        return {name: value for name, value in self.__dict__.items() if name not in computed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ensemble = Ensemble.of(
            self.log_weights,
            self.lengths,
            self.root,
            self._validate_args,
            labeled=self._edge_axes == 3,
        )

    def __repr__(self) -> str:
        name, n = type(self).__name__, self._ensemble.edge_shape[0]
        labels = f", labels={self._ensemble.edge_shape[-1]}" if self._edge_axes == 3 else ""
        lengths = "" if self.lengths is None else f", lengths={_abridged(self.lengths)}"
        batch = tuple(self.batch_shape)
        return f"{name}(batch_shape={batch}, nodes={n}{labels}, root={self.root!r}{lengths})"


def _abridged(lengths: Tensor) -> str:
    values = lengths.flatten().tolist()
    if lengths.dim() == 0:
        return str(values[0])
    shown = ", ".join(map(str, values[:8]))
    return f"[{shown}, ...]" if len(values) > 8 else f"[{shown}]"
