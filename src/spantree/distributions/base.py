"""What distributions over plain and over labelled trees share: all but what an event is."""

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from spantree.checks import check_heads, check_mask
from spantree.distributions.quantities import Quantities
from spantree.distributions.support import TreesOf
from spantree.errors import raise_for_heads, raise_for_labels
from spantree.inference import conditioning
from spantree.inference.enumeration import enumerate_support
from spantree.inference.trees import along, edge_mask, is_forest, node_mask

__all__ = ["TreeDistribution"]


class TreeDistribution(Quantities):
    """Questions about trees: events, whole or partial."""

    has_enumerate_support = True

    @property
    def support(self) -> TreesOf:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The constraint that an event is a tree of these graphs, by lengths and root rule."""
        ensemble = self._ensemble
        return TreesOf(
            ensemble.present,
            ensemble.lengths,
            ensemble.edge_axes,
            single_root=ensemble.question.single_root,
        )

    def log_prob(self, value: Any) -> Tensor:
        """The log-probability of trees ``(*sample, *batch)``.

        Raises for what is no tree of its graph, unless ``validate_args=False``: then it is -inf.
        """
        heads, labels = self._parts(value)
        if labels is None and self._edge_axes == 3:
            raise TypeError("value must be a pair (heads, labels); `joint` asks for heads alone")
        ensemble, fine = self._ensemble, self.support.check(self._event(heads, labels))
        if self._validate_args:
            raise_for_heads(
                fine,
                heads,
                labels,
                ensemble.present,
                single_root=ensemble.question.single_root,
            )
        # Garbage in the place of what is no tree is as good as anything.
        score = along(ensemble.log_weights, heads, ensemble.lengths, labels)
        log_prob = score.where(fine, 0.0) - self._solution[0]
        return self._rounded(log_prob.where(fine, -torch.inf))

    def joint(self, value: Any) -> Tensor:
        """The log-probability of partial trees ``(*sample, *batch)``: heads with -1 where unknown.

        -inf for one that no tree of the graph extends. One that cannot be part of any tree, as it
        has a cycle or two children of a single root, is an error unless ``validate_args=False``.
        """
        heads, labels = self._parts(value)
        self._check_partial(heads, labels)
        log_partition = self._solution[0]
        return self._rounded(conditioning.log_joint(self._ensemble, log_partition, heads, labels))

    def condition(
        self,
        value: Any = None,
        *,
        required: Tensor | None = None,
        forbidden: Tensor | None = None,
    ) -> Self:
        """The distribution of trees of which something is known.

        Args:
            value: partial trees, as for `joint`, with the batch shape of this distribution or
                further axes in front.
            required: edges that are in the tree, a mask like ``log_weights``.
            forbidden: edges that are not.
        """
        ensemble = self._ensemble
        if value is not None:
            heads, labels = self._parts(value)
            self._check_partial(heads, labels)
            ensemble = conditioning.given_heads(ensemble, heads, labels)
        for name, mask in (("required", required), ("forbidden", forbidden)):
            if mask is not None:
                check_mask(name, mask, tuple(self.log_weights.shape), self.log_weights.device)
        ensemble = conditioning.given_edges(ensemble, required, forbidden)
        new = type(self).__new__(type(self))
        new._setup(ensemble.log_weights.to(self._dtype), ensemble.lengths, self.root, ensemble)
        return new

    def edge_indicator(self, value: Any) -> Tensor:
        """Which edges trees, or partial ones, have: a mask ``(*sample, *log_weights.shape)``.

        With heads alone, or where a label is -1, every label of an edge counts.
        """
        heads, labels = self._parts(value)
        self._check_partial(heads, labels)
        real = node_mask(heads.shape[-1], self.lengths, heads.device)
        edges = edge_mask(heads.where(real, -1))
        if self._edge_axes == 2:
            return edges
        fits = torch.ones_like(self.log_weights[..., 0, :, :], dtype=torch.bool)
        if labels is not None:
            label = torch.arange(fits.shape[-1], device=heads.device)
            fits = (labels[..., None] == label) | (labels < 0)[..., None]
        return edges[..., None] & fits[..., None, :, :]

    def is_complete(self, value: Any) -> bool:
        """Whether these are whole trees: every node with a head, and a label if edges have any."""
        heads, labels = self._parts(value)
        if self._edge_axes == 3 and labels is None:
            return False
        known = heads >= 0 if labels is None else (heads >= 0) & (labels >= 0)
        real = node_mask(heads.shape[-1], self.lengths, heads.device)
        return bool((known | ~real).all())

    def enumerate_support(self, expand: bool = True) -> Any:
        """Every tree ``(T, *batch, n)``, by brute force, in O(T N) memory.

        For at most seven nodes beside the root, and ten million labelled trees.

        All graphs of the batch must have the same trees, as torch.distributions asks.
        """
        ensemble = self._ensemble
        heads, labels = enumerate_support(
            ensemble.present, ensemble.lengths, ensemble.edge_axes, root=self.root
        )
        batch = self.batch_shape if expand else (1,) * len(self.batch_shape)
        shape = (len(heads), *(1,) * len(self.batch_shape), heads.shape[-1])
        expanded = (len(heads), *batch, heads.shape[-1])
        return self._event(
            heads.reshape(shape).expand(expanded),
            None if labels is None else labels.reshape(shape).expand(expanded),
        )

    def _parts(self, value: Any) -> tuple[Tensor, Tensor | None]:
        """Heads and labels ``(*sample, *batch, n)`` of an event; labels are None if not given."""
        if isinstance(value, Tensor):
            heads, labels = value, None
        elif self._edge_axes == 3 and isinstance(value, Sequence) and len(value) == 2:
            heads, labels = value
        else:
            wanted = "heads" if self._edge_axes == 2 else "a pair (heads, labels), or heads"
            raise TypeError(f"value must be {wanted} in a torch.Tensor, got {type(value).__name__}")
        n = self._ensemble.edge_shape[0]
        parts = []
        for name, part in (("heads", heads), ("labels", labels)):
            if part is not None:
                check_heads(name, part, n, self.batch_shape, self.log_weights.device)
                lead = torch.broadcast_shapes(part.shape[:-1], self.batch_shape)
                part = part.long().expand(*lead, n)
            parts.append(part)
        return parts[0], parts[1]

    def _event(self, heads: Tensor, labels: Tensor | None) -> Any:
        """The event made of these parts."""
        raise NotImplementedError

    def _check_partial(self, heads: Tensor, labels: Tensor | None) -> None:
        if not self._validate_args:
            return
        if labels is not None:
            real = node_mask(heads.shape[-1], self.lengths, heads.device)
            raise_for_labels(labels.where(real, -1), self._ensemble.edge_shape[-1])
        lengths, single_root = self._ensemble.lengths, self._ensemble.question.single_root
        possible = is_forest(heads, lengths, single_root=single_root)
        anything = self._ensemble.plain().edges.expand(*self.batch_shape, *heads.shape[-1:] * 2)
        raise_for_heads(possible, heads, None, anything, single_root=single_root)
