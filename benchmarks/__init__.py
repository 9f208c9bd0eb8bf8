"""Performance bars, measured: `make bench`. Ratios in one process, medians, raw figures kept."""
