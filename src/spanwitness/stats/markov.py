"""A test of whether the last success depends on the first, given the one between. It is ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from spanwitness.stats.counts import CountError, needs_extra

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    import numpy.typing

    _Array: TypeAlias = numpy.typing.NDArray[numpy.float64]

__all__ = ["MarkovTest", "markov_test"]

_THIN = 5
_NEGLIGIBLE = 1e-15
"""Tables less likely than this are left out of the enumeration; together below 1e-10."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkovTest:
    """Whether E2 depends on E0 given E1; effect sizes come first."""

    effect_if_wrong: float | None
    """P(E2 | E0 right) - P(E2 | E0 wrong) where E1 is wrong; `None`: one has no items."""
    effect_if_right: float | None
    """The same where E1 is right."""
    n_items: int
    g_squared: float
    """The likelihood-ratio statistic, summed over the two strata."""
    degrees_of_freedom: int
    """Strata that can tell: those with both values of E0 and of E2."""
    p_value: float | None
    """`None` where no stratum can tell."""
    method: Literal["chi_squared", "exact_permutation"]
    """The chi-squared limit, or the exact permutation distribution where an expected count is
    below 5."""

    @property
    def words(self) -> str:
        """One plain sentence on chaining the rates."""
        if self.p_value is None:
            return "Nothing can be said: in no stratum do both the first and the last outcome vary."
        if self.p_value < 0.05:
            return (
                "The last outcome depends on the first one beyond the step in between: chaining the"
                " rates gives a wrong end-to-end rate; measure it directly, or by group."
            )
        return (
            "No dependence was found: chaining the rates is compatible with these items, which is"
            " no proof for others; look at the size of the effect and at the number of items."
        )


def markov_test(sequences: Iterable[tuple[bool, bool, bool]]) -> MarkovTest:
    """Test that E2 is independent of E0 given E1, by the G-squared statistic.

    Where an expected count is below 5 the p value is exact: the permutation distribution of E0
    within the strata of E1, which is a product of two hypergeometric ones, is enumerated. Assumes
    that items are independent; with repeated runs take one run of each.

    Args:
        sequences: (E0, E1, E2) of each item.

    Raises:
        CountError: There are no items.
    """
    cells = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    n = 0
    for first, between, last in sequences:
        cells[bool(between)][bool(first)][bool(last)] += 1
        n += 1
    if n == 0:
        raise CountError("no items to test")
    telling = [table for table in cells if _can_tell(table)]
    observed = sum(_g_squared(table) for table in telling)
    thin = any(expected < _THIN for table in telling for expected in _expected(table))
    return MarkovTest(
        effect_if_wrong=_effect(cells[0]),
        effect_if_right=_effect(cells[1]),
        n_items=n,
        g_squared=observed,
        degrees_of_freedom=len(telling),
        p_value=_p_value(telling, observed, exact=thin) if telling else None,
        method="exact_permutation" if thin else "chi_squared",
    )


_Table = list[list[int]]


def _can_tell(table: _Table) -> bool:
    columns = [table[0][at] + table[1][at] for at in (0, 1)]
    return all(sum(row) for row in table) and all(columns)


def _expected(table: _Table) -> list[float]:
    n = sum(map(sum, table))
    columns = [table[0][at] + table[1][at] for at in (0, 1)]
    return [sum(row) * column / n for row in table for column in columns]


def _g_squared(table: _Table) -> float:
    try:
        from scipy.stats import chi2_contingency
    except ImportError as error:
        raise needs_extra(error) from None
    found = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    return float(cast("Any", found).statistic)


def _effect(table: _Table) -> float | None:
    wrong, right = sum(table[0]), sum(table[1])
    return table[1][1] / right - table[0][1] / wrong if wrong and right else None


def _p_value(tables: list[_Table], observed: float, *, exact: bool) -> float:
    try:
        import numpy as np
        from scipy.stats import chi2
    except ImportError as error:
        raise needs_extra(error) from None
    if not exact:
        return float(chi2.sf(observed, len(tables)))
    statistic, probability = _distribution(tables[0])
    for table in tables[1:]:
        more, likely = _distribution(table)
        statistic = np.add.outer(statistic, more).ravel()
        probability = np.multiply.outer(probability, likely).ravel()
    return min(1.0, float(np.sum(probability[statistic >= observed - 1e-9])))


def _distribution(table: _Table) -> tuple[_Array, _Array]:
    """Return G-squared and probability of each table with the same margins."""
    import numpy as np
    from scipy.special import xlogy
    from scipy.stats import hypergeom

    n, first, last = sum(map(sum, table)), sum(table[1]), table[0][1] + table[1][1]
    both = np.arange(max(0, first + last - n), min(first, last) + 1, dtype=float)
    cells = [both, first - both, last - both, n - first - last + both]
    margins = [first * last, first * (n - last), (n - first) * last, (n - first) * (n - last)]
    statistic = sum(
        2 * xlogy(cell, cell * n / margin) for cell, margin in zip(cells, margins, strict=True)
    )
    probability = np.asarray(hypergeom.pmf(both, n, first, last))
    likely = probability > _NEGLIGIBLE
    return np.asarray(statistic)[likely], probability[likely]
