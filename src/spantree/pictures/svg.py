"""From a drawing to SVG that stands on its own, and can be read in light and in dark."""

from html import escape
from typing import Literal, get_args

from spantree.pictures.lettering import clean
from spantree.pictures.shapes import Arc, Box, Disc, Drawing, Path, Shape, Text

__all__ = ["THEMES", "Theme", "check_theme", "to_svg"]

Theme = Literal["auto", "light", "dark"]

# Blue and orange can be told apart whatever one's eyes; "edge" is also the far end of the scale of
# probabilities, which begins at "paper"; "low", "middle" and "high" are numbers written on it.
THEMES = {
    "light": {
        "paper": "#ffffff",
        "grid": "#dfe4ea",
        "text": "#1b2530",
        "low": "#000000",
        "middle": "#000000",
        "high": "#ffffff",
        "muted": "#5a6675",
        "edge": "#0b3c7d",
        "tree": "#c4480a",
        "one": "#c4480a",
        "two": "#0b5cad",
        "three": "#8a3ea8",
        "four": "#5a6675",
        "five": "#157a55",
    },
    "dark": {
        "paper": "#12171e",
        "grid": "#2a333e",
        "text": "#e8edf3",
        "low": "#ffffff",
        "middle": "#000000",
        "high": "#000000",
        "muted": "#9ba8b7",
        "edge": "#b5daff",
        "tree": "#ff9a47",
        "one": "#ff9a47",
        "two": "#6bb6ff",
        "three": "#d59af0",
        "four": "#9ba8b7",
        "five": "#5fd0a0",
    },
}
_FONT = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_ARROW = 7.0  # the length of an arrowhead


def check_theme(theme: Theme) -> None:
    """Raises ValueError unless there is such a theme."""
    if theme not in get_args(Theme):
        raise ValueError(f"theme must be one of {str(get_args(Theme))[1:-1]}, got {theme!r}")


def to_svg(drawing: Drawing, theme: Theme) -> str:
    """The drawing as an SVG element; "auto" is light or dark as the reader has chosen."""
    check_theme(theme)
    colours = THEMES["dark" if theme == "dark" else "light"]
    width, height = _number(drawing.width), _number(drawing.height)
    size = f'width="{width}" height="{height}"'
    # Colours are attributes, which any program understands; the style sheet only overrules them.
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spantree-{theme}" role="img" '
        f'aria-label="{_safe(drawing.title)}" '
        f'{size} viewBox="0 0 {width} {height}" '
        f'font-family="{_FONT}">',
        f"<title>{_safe(drawing.title)}</title>",
        f"<desc>{_safe(drawing.description)}</desc>",
    ]
    if theme == "auto":
        lines.append(f"<style>{_night()}</style>")
    lines.append(f'<rect class="f-paper" {size} rx="6" fill="{colours["paper"]}"/>')
    lines += [_element(shape, colours) for shape in drawing.shapes]
    return "\n".join([*lines, "</svg>"])


def _night() -> str:
    """The style sheet of the dark, for as long as it is dark; its rules are for such SVG alone."""
    rules = "".join(
        f".spantree-auto .f-{role}{{fill:{colour}}}.spantree-auto .s-{role}{{stroke:{colour}}}"
        for role, colour in THEMES["dark"].items()
    )
    return f"@media (prefers-color-scheme:dark){{{rules}}}"


def _element(shape: Shape, colours: dict[str, str]) -> str:
    fill = f'class="f-{shape.role}" fill="{colours[shape.role]}"'
    stroke = f'class="s-{shape.role}" fill="none" stroke="{colours[shape.role]}"'
    match shape:
        case Text():
            return _text(shape, fill)
        case Arc():
            return _arc(shape, fill, stroke)
        case Path():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
            dashes = f' stroke-dasharray="{shape.dashes}"' if shape.dashes else ""
            return (
                f'<polyline points="{points}" {stroke} stroke-width="{_number(shape.stroke)}"'
                f'{dashes} stroke-linejoin="round"/>'
            )
        case Disc():
            at = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}" r="{_number(shape.radius)}"'
            return _closed(f"<circle {at} {fill}", shape.tip, "circle")
        case Box():
            place = (
                f'x="{_number(shape.x)}" y="{_number(shape.y)}" '
                f'width="{_number(shape.width)}" height="{_number(shape.height)}"'
            )
            if shape.stroke:
                return f'<rect {place} {stroke} stroke-width="{_number(shape.stroke)}"/>'
            opacity = f' fill-opacity="{_exact(shape.opacity)}"' if shape.opacity < 1 else ""
            return _closed(f"<rect {place} {fill}{opacity}", shape.tip, "rect")


def _text(text: Text, fill: str) -> str:
    turned = (
        f' transform="rotate({_number(text.angle)} {_number(text.x)} {_number(text.y)})"'
        if text.angle
        else ""
    )
    bold = ' font-weight="bold"' if text.bold else ""
    tip = f"<title>{_safe(text.tip)}</title>" if text.tip else ""
    return (
        f'<text x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}" '
        f'text-anchor="{text.anchor}" {fill}{bold}{turned}>{tip}{_safe(text.text)}</text>'
    )


def _arc(arc: Arc, fill: str, stroke: str) -> str:
    """One group, so that line and arrowhead fade together."""
    start, end, y = _number(arc.start), _number(arc.end), _number(arc.y)
    radii = f"{_number(abs(arc.end - arc.start) / 2)} {_number(arc.height)}"
    line = f"M{start} {y}A{radii} 0 0 {int(arc.start < arc.end)} {end} {y}"
    half = 0.4 * _ARROW + 0.3 * arc.stroke
    tip = (
        f"M{end} {_number(arc.y + 1)}L{_number(arc.end - half)} {_number(arc.y - _ARROW)}"
        f"L{_number(arc.end + half)} {_number(arc.y - _ARROW)}Z"
    )
    thin = f'<path d="{line}{tip}" {stroke} stroke-width="0.8"/>' if arc.traced else ""
    return (
        f'{thin}<g class="arc" opacity="{_exact(arc.opacity)}"><title>{_safe(arc.tip)}</title>'
        f'<path d="{line}" {stroke} stroke-width="{_number(arc.stroke)}"/>'
        f'<path d="{tip}" {fill}/></g>'
    )


def _closed(opening: str, tip: str, tag: str) -> str:
    return f"{opening}><title>{_safe(tip)}</title></{tag}>" if tip else f"{opening}/>"


def _safe(text: str) -> str:
    return escape(clean(text))


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _exact(probability: float) -> str:
    """All the digits that are known to be right."""
    return f"{probability:.12g}"
