"""Letters: how wide a text is, and how to shorten it. No font is at hand, so widths are bounds."""

import unicodedata

__all__ = ["LINE", "abridged", "cells", "clean", "percent", "wrapped", "written_width"]

LINE = 1.25  # the distance of lines, and the height of a label, in units of the font's size

# Widths in units of the font's size: those of DejaVu Sans and Verdana, the widest of the common
# sans-serif fonts, so that what fits by this table fits in any of them.
_WIDTHS = {
    **dict.fromkeys("ijl'|", 0.34),
    **dict.fromkeys("I.,:;!", 0.40),
    **dict.fromkeys('frt()[] /\\-"·', 0.46),
    **dict.fromkeys("cksvxyz", 0.60),
    **dict.fromkeys("CDGHKNOQRU&w", 0.82),
    **dict.fromkeys("→←#+<=>^~×−±÷¬", 0.84),
    **dict.fromkeys("mMW%@—…æÆœŒ©®", 1.07),
}
_COMBINING = {"Mn", "Me", "Cf"}  # drawn over what is before them, or not at all


def _is_combining(letter: str) -> bool:
    return unicodedata.category(letter) in _COMBINING


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def cells(text: str) -> int:
    """How many columns of a terminal the text takes: two for wide letters, none for marks."""
    return sum(0 if _is_combining(x) else 2 if _is_wide(x) else 1 for x in text)


def written_width(text: str, size: float, *, bold: bool = False) -> float:
    """An upper bound of the width in common sans-serif fonts of this size."""
    total = sum(_letter_width(letter) for letter in text)
    return total * size * (1.12 if bold else 1.0)


def _letter_width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if _is_combining(letter):
        return 0.0
    if _is_wide(letter):
        return 1.35 if ord(letter) >= 0x1F000 else 1.02  # pictographs; ideographs
    parts = unicodedata.normalize("NFKD", letter)
    if parts != letter:  # as wide as what it is composed of, accents aside
        return sum(map(_letter_width, parts))
    if letter < "\u0250":
        return 0.79 if letter.isupper() else 0.65
    return 1.1 if letter.isupper() else 0.95


def abridged(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits into the width with an ellipsis."""
    if written_width(text, size, bold=bold) <= width:
        return text
    room = width / size / (1.12 if bold else 1.0) - _WIDTHS["…"]
    kept = 0
    for letter in text:
        room -= _letter_width(letter)
        if room < 0:
            break
        kept += 1
    return text[: max(kept, 1)].rstrip() + "…"


def wrapped(phrases: list[str], width: float, size: float) -> list[str]:
    """The phrases in lines of at most this width, unless a single phrase is longer."""
    lines: list[str] = []
    for phrase in phrases:
        longer = f"{lines[-1]}  {phrase}" if lines else phrase
        if lines and written_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(phrase)
    return lines


def clean(text: str) -> str:
    """The text in one line, without what XML and terminals cannot bear."""
    category = unicodedata.category
    return "".join(
        " " if x.isspace() else "\ufffd" if category(x) in {"Cc", "Cs", "Cn"} else x for x in text
    )


def percent(probability: float) -> str:
    """Such as ``97.3 %``; what is not quite 0 or 1 does not look as if it were.

    Example:
        >>> percent(0.9731), percent(1.0), percent(0.99999), percent(1e-9), percent(0.0)
        ('97.3 %', '100.0 %', '> 99.9 %', '< 0.1 %', '0.0 %')
    """
    if 0 < probability < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= probability < 1 - 1e-12:  # closer than that is 1 up to rounding
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"
