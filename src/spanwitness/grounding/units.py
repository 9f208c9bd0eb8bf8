"""Units and scale words: what `mV`, `million` or `%` make of a number.

Words are looked up whole, so that `V` is never found inside `mV`. The common units stand in one
small table that is made once. What it does not know is asked of pint, and only for the units of
claims: pint takes long to load, and texts are full of words that are no units.
"""

from __future__ import annotations

from functools import lru_cache
from math import floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pint import UnitRegistry

__all__ = ["LETTERS", "Unit", "mantissas_of", "scales_of", "units_of"]


LETTERS: Final = {
    "v": "V", "w": "W", "a": "A", "c": "\u00b0C", "f": "\u00b0F", "s": "s", "m": "m", "h": "h",
    "g": "g", "l": "L",
}  # fmt: skip
"""What the last letter of a key may mean, as in `temp_f`; `option_a` means nothing."""


class Unit(NamedTuple):
    """What one unit makes of a number: `number * factor + offset` in the base of its dimension."""

    dimension: str
    factor: float
    offset: float = 0.0


_PREFIXES: Final = {
    "p": 1e-12, "n": 1e-9, "u": 1e-6, "\u03bc": 1e-6, "m": 1e-3, "c": 1e-2, "k": 1e3, "M": 1e6,
    "G": 1e9, "T": 1e12,
}  # fmt: skip
_PREFIX_WORDS: Final = {
    "pico": 1e-12, "nano": 1e-9, "micro": 1e-6, "milli": 1e-3, "centi": 1e-2, "kilo": 1e3,
    "mega": 1e6, "giga": 1e9, "tera": 1e12,
}  # fmt: skip
_PREFIXED: Final[dict[str, Unit]] = {
    "V": Unit("voltage", 1), "A": Unit("current", 1), "W": Unit("power", 1),
    "\u03a9": Unit("resistance", 1), "F": Unit("capacitance", 1), "H": Unit("inductance", 1),
    "Hz": Unit("frequency", 1), "s": Unit("time", 1), "m": Unit("length", 1),
    "g": Unit("mass", 1e-3), "Pa": Unit("pressure", 1), "J": Unit("energy", 1),
    "eV": Unit("energy", 1.602176634e-19), "cal": Unit("energy", 4.184),
    "L": Unit("volume", 1e-3), "l": Unit("volume", 1e-3), "N": Unit("force", 1),
    "Wh": Unit("energy", 3600), "Ah": Unit("charge", 3600), "bar": Unit("pressure", 1e5),
    "bps": Unit("data/time", 1), "B": Unit("data", 8), "mol": Unit("amount", 1),
    "sps": Unit("frequency", 1), "SPS": Unit("frequency", 1),
}  # fmt: skip
_WORDS: Final[dict[str, Unit]] = {
    "volt": Unit("voltage", 1), "amp": Unit("current", 1), "ampere": Unit("current", 1),
    "watt": Unit("power", 1), "ohm": Unit("resistance", 1), "farad": Unit("capacitance", 1),
    "henry": Unit("inductance", 1), "hertz": Unit("frequency", 1), "second": Unit("time", 1),
    "metre": Unit("length", 1), "meter": Unit("length", 1), "gram": Unit("mass", 1e-3),
    "pascal": Unit("pressure", 1), "joule": Unit("energy", 1), "litre": Unit("volume", 1e-3),
    "liter": Unit("volume", 1e-3), "newton": Unit("force", 1), "byte": Unit("data", 8),
    "bit": Unit("data", 1), "bar": Unit("pressure", 1e5), "calorie": Unit("energy", 4.184),
}  # fmt: skip
_PLAIN: Final[dict[str, Unit]] = {
    "%": Unit("share", 0.01), "percent": Unit("share", 0.01), "pct": Unit("share", 0.01),
    "per cent": Unit("share", 0.01), "\u2030": Unit("share", 1e-3), "ppm": Unit("share", 1e-6),
    "ppb": Unit("share", 1e-9), "bp": Unit("share", 1e-4), "bps": Unit("share", 1e-4),
    "\u00b0c": Unit("temperature", 1, 273.15), "celsius": Unit("temperature", 1, 273.15),
    "degc": Unit("temperature", 1, 273.15), "\u00b0f": Unit("temperature", 5 / 9, 255.3722222222),
    "fahrenheit": Unit("temperature", 5 / 9, 255.3722222222),
    "degf": Unit("temperature", 5 / 9, 255.3722222222), "kelvin": Unit("temperature", 1),
    "\u00b0": Unit("angle", 1), "deg": Unit("angle", 1), "degree": Unit("angle", 1),
    "sec": Unit("time", 1), "min": Unit("time", 60), "minute": Unit("time", 60),
    "h": Unit("time", 3600), "hr": Unit("time", 3600), "hour": Unit("time", 3600),
    "d": Unit("time", 86400), "day": Unit("time", 86400), "week": Unit("time", 604800),
    "month": Unit("month", 1), "year": Unit("month", 12), "yr": Unit("month", 12),
    "yrs": Unit("month", 12),
    "in": Unit("length", 0.0254), "inch": Unit("length", 0.0254), "inches": Unit("length", 0.0254),
    "ft": Unit("length", 0.3048), "foot": Unit("length", 0.3048), "feet": Unit("length", 0.3048),
    "yd": Unit("length", 0.9144), "yard": Unit("length", 0.9144),
    "mi": Unit("length", 1609.344), "mile": Unit("length", 1609.344),
    "oz": Unit("mass", 0.028349523125), "ounce": Unit("mass", 0.028349523125),
    "lb": Unit("mass", 0.45359237), "lbs": Unit("mass", 0.45359237),
    "pound": Unit("mass", 0.45359237), "tonne": Unit("mass", 1000), "t": Unit("mass", 1000),
    "gal": Unit("volume", 0.003785411784), "gallon": Unit("volume", 0.003785411784),
    "psi": Unit("pressure", 6894.757293168), "atm": Unit("pressure", 101325),
    "hpa": Unit("pressure", 100), "mmhg": Unit("pressure", 133.322387415),
    "mph": Unit("length/time", 0.44704), "kmh": Unit("length/time", 1 / 3.6),
    "kph": Unit("length/time", 1 / 3.6), "rpm": Unit("frequency", 1 / 60),
    "db": Unit("level", 1), "dbm": Unit("level-mW", 1), "lsb": Unit("lsb", 1),
    "ha": Unit("area", 1e4), "acre": Unit("area", 4046.8564224), "hp": Unit("power", 745.69987),
    "kib": Unit("data", 8 * 1024), "mib": Unit("data", 8 * 1024**2),
    "gib": Unit("data", 8 * 1024**3), "tib": Unit("data", 8 * 1024**4),
    "kb": Unit("data", 8e3), "mb": Unit("data", 8e6), "gb": Unit("data", 8e9),
    "tb": Unit("data", 8e12), "b": Unit("data", 8),
    "ohms": Unit("resistance", 1), "kohm": Unit("resistance", 1e3),
    "mohm": Unit("resistance", 1e6),
    "$": Unit("USD", 1), "usd": Unit("USD", 1), "us$": Unit("USD", 1), "dollar": Unit("USD", 1),
    "cent": Unit("USD", 0.01), "\u20ac": Unit("EUR", 1), "eur": Unit("EUR", 1),
    "euro": Unit("EUR", 1), "\u00a3": Unit("GBP", 1), "gbp": Unit("GBP", 1),
    "\u00a5": Unit("JPY", 1), "jpy": Unit("JPY", 1), "yen": Unit("JPY", 1),
    "\u20b9": Unit("INR", 1), "inr": Unit("INR", 1), "chf": Unit("CHF", 1),
    "cny": Unit("CNY", 1), "cad": Unit("CAD", 1), "aud": Unit("AUD", 1),
}  # fmt: skip
_CASED: Final[dict[str, Unit]] = {
    "K": Unit("temperature", 1), "C": Unit("temperature", 1, 273.15),
    "G": Unit("data", 8e9), "Ki": Unit("data", 8 * 1024), "Mi": Unit("data", 8 * 1024**2),
    "Gi": Unit("data", 8 * 1024**3), "Ti": Unit("data", 8 * 1024**4),
    "dL": Unit("volume", 1e-4), "dl": Unit("volume", 1e-4),
    "Mb": Unit("data", 1e6), "Kb": Unit("data", 1e3), "kb": Unit("data", 1e3),
    "Gb": Unit("data", 1e9), "Tb": Unit("data", 1e12), "b": Unit("data", 1),
    "Mbps": Unit("data/time", 1e6), "Gbps": Unit("data/time", 1e9), "kbps": Unit("data/time", 1e3),
    "MBps": Unit("data/time", 8e6), "KHz": Unit("frequency", 1e3), "Khz": Unit("frequency", 1e3),
    "Mhz": Unit("frequency", 1e6), "Ghz": Unit("frequency", 1e9), "hz": Unit("frequency", 1),
    "v": Unit("voltage", 1), "mv": Unit("voltage", 1e-3), "kv": Unit("voltage", 1e3),
    "KV": Unit("voltage", 1e3), "ma": Unit("current", 1e-3), "w": Unit("power", 1),
    "kw": Unit("power", 1e3), "KW": Unit("power", 1e3), "mw": Unit("power", 1e-3),
    "khz": Unit("frequency", 1e3), "mhz": Unit("frequency", 1e6), "ghz": Unit("frequency", 1e9),
    "kpa": Unit("pressure", 1e3), "mpa": Unit("pressure", 1e6), "Kg": Unit("mass", 1),
    "KG": Unit("mass", 1), "KM": Unit("length", 1e3), "ML": Unit("volume", 1e-6),
    "kwh": Unit("energy", 3.6e6), "KWh": Unit("energy", 3.6e6), "VDC": Unit("voltage", 1),
    "Vdc": Unit("voltage", 1), "Vrms": Unit("voltage", 1), "VAC": Unit("voltage", 1),
}  # fmt: skip
_SCALES: Final[dict[str, float]] = {
    "k": 1e3, "thousand": 1e3, "thousands": 1e3, "mn": 1e6, "mm": 1e6, "mio": 1e6, "m": 1e6,
    "mil": 1e6, "million": 1e6, "millions": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9,
    "billions": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12, "trillions": 1e12, "lakh": 1e5,
    "crore": 1e7, "hundred": 1e2, "dozen": 12.0,
}  # fmt: skip
_MAX_CHARS: Final = 24


@lru_cache(maxsize=4096)
def units_of(word: str, *, ask_pint: bool = False) -> tuple[Unit, ...]:
    """Return what a word may mean as a unit, the likeliest first; empty = no unit.

    Args:
        word: The whole word, its typography already folded (one kind of mu, one kind of ohm).
        ask_pint: Whether to load pint for a word that the table does not hold.
    """
    word = word.strip().rstrip(".")
    if not word or len(word) > _MAX_CHARS:
        return ()
    found = _simple(word)
    if not found and "/" in word:
        above, _, below = word.partition("/")
        found = [_ratio(a, b) for a in units_of(above) for b in units_of(below)]
    if not found and word[-1:] in "23\u00b2\u00b3":
        power = 2 if word[-1] in "2\u00b2" else 3
        name = {2: "area", 3: "volume"}[power]
        sides = [u for u in _simple(word[:-1].rstrip("^")) if u.dimension == "length"]
        found = [Unit(name, u.factor**power) for u in sides]
    if not found and ask_pint:
        found = _of_pint(word)
    return tuple(dict.fromkeys(found))


def scales_of(word: str) -> float | None:
    """Return what a scale word multiplies by, `None` when it is none."""
    return _SCALES.get(word.casefold().rstrip("."))


@lru_cache(maxsize=64)
def mantissas_of(dimension: str) -> tuple[Unit, ...]:
    """Return the units of a dimension that differ by more than a power of ten, one of each kind."""
    kinds: dict[tuple[float, float], Unit] = {}
    for unit in (*_PREFIXED.values(), *_PLAIN.values(), *_WORDS.values()):
        if unit.dimension == dimension:
            exponent = floor(log10(unit.factor) + 1e-9)
            mantissa = round(unit.factor / 10.0**exponent, 6)
            kinds.setdefault((mantissa, unit.offset), unit)
    return tuple(kinds.values())


def _ratio(above: Unit, below: Unit) -> Unit:
    return Unit(f"{above.dimension}/{below.dimension}", above.factor / below.factor)


def _simple(word: str) -> list[Unit]:
    found: list[Unit] = []
    if word in _CASED:
        found.append(_CASED[word])
    if word in _PREFIXED:
        found.append(_PREFIXED[word])
    elif word[:1] in _PREFIXES and word[1:] in _PREFIXED:
        unit = _PREFIXED[word[1:]]
        found.append(Unit(unit.dimension, unit.factor * _PREFIXES[word[0]]))
    lower = word.casefold().replace(" ", "")
    single = lower.removesuffix("s") if len(lower) > 3 else lower
    for form in dict.fromkeys((lower, single)):
        if form in _PLAIN and not (found and len(word) == 1):
            found.append(_PLAIN[form])
        if form in _WORDS:
            found.append(_WORDS[form])
    if not found:
        for prefix, factor in _PREFIX_WORDS.items():
            if single.startswith(prefix) and single[len(prefix) :] in _WORDS:
                unit = _WORDS[single[len(prefix) :]]
                found.append(Unit(unit.dimension, unit.factor * factor))
    return found


def _of_pint(word: str) -> list[Unit]:
    import pint

    registry = _registry()
    try:
        base = registry.Quantity(1, word.replace("\u03bc", "\u00b5")).to_base_units()
    except (pint.PintError, AttributeError, TypeError, ValueError, AssertionError):
        return []
    except RecursionError:
        return []
    dimension = str(base.dimensionality)
    return [Unit(dimension, float(base.magnitude))] if dimension != "dimensionless" else []


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)
