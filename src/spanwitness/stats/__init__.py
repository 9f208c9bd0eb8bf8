"""Pure statistics: intervals, paired counts, bootstraps, composition, agreement, stability.

SciPy and statsmodels do what they have; they come with `pip install 'spanwitness[measure]'` and are
imported where they are used. What is here alone is what they lack. Nothing here knows a trace, a
file or a clock. Seeds and units of independence are arguments, never guessed. A figure that has no
denominator is `None` with a reason, never 0.
"""
