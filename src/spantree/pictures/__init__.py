"""Pictures of edge probabilities and trees: numbers in, text or SVG out.

Nothing here knows distributions; `SpanningTree.svg` and `SpanningTree.plot` bring the numbers.
"""

from spantree.pictures.arcs import arcs_svg
from spantree.pictures.heatmap import heatmap_svg
from spantree.pictures.terminal import tree_text

__all__ = ["arcs_svg", "heatmap_svg", "tree_text"]
