"""Showing trees: pictures of the probabilities of edges, and what a notebook shows."""

import operator
from collections.abc import Sequence
from html import escape
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

from torch import Tensor

from spantree.distributions.choosing import ChoosingTrees

if TYPE_CHECKING:
    from spantree.pictures.svg import Theme

__all__ = ["ShowingTrees"]

Kind = Literal["arcs", "heatmap"]

# What a notebook shows unasked: arcs up to so many nodes beside the root, then heat maps; of
# larger graphs, and of graphs further down a batch, nothing.
_ARCS, _HEATMAP = 60, 100
_ITEMS = 3


class _Picture(NamedTuple):
    marginals: Tensor
    heads: Tensor


class ShowingTrees(ChoosingTrees):
    """Pictures; `pictures` draws them. Those of labelled trees are of edges of any label.

    `pictures` is imported when the first is asked for, as few who import spantree want any.
    """

    def svg(
        self,
        kind: Kind = "arcs",
        *,
        names: Sequence[Any] | None = None,
        item: int | tuple[int, ...] | None = None,
        title: str | None = None,
        theme: "Theme" = "auto",
    ) -> str:
        """The probabilities of a graph's edges and its best tree, as SVG.

        Args:
            kind: ``"arcs"``, as opaque as they are probable, or a ``"heatmap"``.
            names: of the nodes, the root's first or without it, as many as the graph really has.
            item: which graph of the batch.
            title: a heading.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` to follow the reader's browser.

        Returns:
            An ``<svg>`` element to be written to a file, or into a page.
        """
        from spantree.pictures import arcs_svg, heatmap_svg

        draw = {"arcs": arcs_svg, "heatmap": heatmap_svg}[_checked(kind)]
        return draw(*self._pictured(item), names, title=title, theme=theme)

    def plot(
        self,
        kind: Kind = "arcs",
        *,
        names: Sequence[Any] | None = None,
        item: int | tuple[int, ...] | None = None,
        title: str | None = None,
        ax: Any = None,
    ) -> Any:
        """The same as `svg`, on matplotlib axes: ``ax``, or new ones.

        Returns:
            The axes. Needs the extra ``plot``; colours follow matplotlib's active style.
        """
        from spantree.pictures import plot_arcs, plot_heatmap

        draw = {"arcs": plot_arcs, "heatmap": plot_heatmap}[_checked(kind)]
        return draw(ax, *self._pictured(item), names, title=title)

    def _repr_html_(self) -> str:
        """What notebooks show: the first graphs of the batch as far as they are not too large."""
        parts = [f"<div><code>{escape(repr(self))}</code></div>"]
        size = self.batch_shape.numel()
        if size > _ITEMS:
            parts.append(f"<div>The first {_ITEMS} of {size} graphs:</div>")
        indices = islice(product(*map(range, self.batch_shape)), _ITEMS)
        parts += [self._shown(index) for index in indices]
        return "\n".join(parts)

    def _shown(self, index: tuple[int, ...]) -> str:
        """One graph; a sentence in its place if it cannot be drawn. A notebook must not fail."""
        name = f"item {index[0] if len(index) == 1 else index}" if index else None
        try:
            n = self._ensemble.item(index).edge_shape[0]
            if n > _HEATMAP + 1:
                why = f"{n} nodes are too many to show unasked; svg('heatmap') draws them all"
            else:
                kind = "arcs" if n <= _ARCS + 1 else "heatmap"
                picture = self.svg(kind, item=index, title=name)
                return f'<div style="overflow-x:auto;margin:4px 0">{picture}</div>'
        except Exception as error:  # whatever it is, and above all that there is no tree
            why = str(error) or type(error).__name__
        where = f"{name}: " if name else ""
        return f"<div>{escape(where + why)}</div>"

    def _pictured(self, item: int | tuple[int, ...] | None) -> _Picture:
        """The marginals and the best tree of one graph, without labels and padding."""
        one = self._item(self._index(item))
        marginals = one._solution[1].detach()
        if one._edge_axes == 3:
            marginals = marginals.sum(-1)
        mode = one.mode
        heads = mode if isinstance(mode, Tensor) else mode.heads
        if not bool((heads >= 0).any()):
            raise ValueError("the graph has no spanning tree, so there is nothing to draw")
        return _Picture(marginals, heads)

    def _index(self, item: int | tuple[int, ...] | None) -> tuple[int, ...]:
        """``item`` as the index of one graph of the batch."""
        shape = tuple(self.batch_shape)
        if item is None and shape:
            raise ValueError(
                f"item must say which graph of the batch {shape} to draw, such as "
                f"item={0 if len(shape) == 1 else (0,) * len(shape)}, got None"
            )
        given = () if item is None else item if isinstance(item, tuple) else (item,)
        try:
            index = tuple(map(operator.index, given))
        except TypeError:
            raise TypeError(f"item must be an int or a tuple of ints, got {item!r}") from None
        fits = len(index) == len(shape)
        if not fits or not all(-k <= i < k for i, k in zip(index, shape, strict=True)):
            raise ValueError(f"item must be the index of a graph in the batch {shape}, got {item}")
        return index

    def _item(self, index: tuple[int, ...]) -> Self:
        """The distribution of one graph; what is known of it already is not computed again."""
        ensemble = self._ensemble.item(index)
        new: Any = type(self).__new__(type(self))
        new._setup(ensemble.log_weights.to(self._dtype), None, self.root, ensemble)
        if "_solution" in self.__dict__:
            n = ensemble.edge_shape[0]
            log_partition, marginals = self._solution
            new._solution = (log_partition[index], marginals[index][:n, :n])
        return new


def _checked(kind: Kind) -> Kind:
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {str(get_args(Kind))[1:-1]}, got {kind!r}")
    return kind
