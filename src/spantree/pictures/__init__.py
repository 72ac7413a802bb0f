"""Pictures of edge probabilities and trees: numbers in, text or SVG out, or matplotlib's axes.

Nothing here knows distributions; `SpanningTree.svg` and `SpanningTree.plot` bring the numbers.
"""

from spantree.pictures.arcs import arcs_svg
from spantree.pictures.curve import curve_svg
from spantree.pictures.figures import plot_arcs, plot_heatmap
from spantree.pictures.heatmap import heatmap_svg
from spantree.pictures.terminal import tree_text

__all__ = ["arcs_svg", "curve_svg", "heatmap_svg", "plot_arcs", "plot_heatmap", "tree_text"]
