"""Charts: marks from frames. No statistic is computed here; every figure stands in the alt text.

Drawn for a phone's width: labels stand above their marks, so a long name costs no room. Colours are
Okabe and Ito's, which colour-blind readers tell apart, and a verdict has its own shape besides.
"""

from evalnb.show.charts.bumps import plot_bumps
from evalnb.show.charts.canvas import VERDICT_COLOURS, Chart
from evalnb.show.charts.changes import LABELLED_BARS, plot_cases
from evalnb.show.charts.grids import plot_overlap, plot_ranks
from evalnb.show.charts.parts import plot_channels, plot_slices, plot_tradeoff
from evalnb.show.charts.rows import plot_differences, plot_means
from evalnb.show.charts.times import plot_latency

__all__ = [
    "LABELLED_BARS",
    "VERDICT_COLOURS",
    "Chart",
    "plot_bumps",
    "plot_cases",
    "plot_channels",
    "plot_differences",
    "plot_latency",
    "plot_means",
    "plot_overlap",
    "plot_ranks",
    "plot_slices",
    "plot_tradeoff",
]
