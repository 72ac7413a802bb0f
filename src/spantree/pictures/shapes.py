"""What a picture consists of, in pixels from its upper left corner.

A role (such as ``"edge"`` or ``"tree"``) stands for a colour, which depends on the theme.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, radians, sin
from typing import Literal

from spantree.pictures.lettering import LINE, written_width

__all__ = ["Arc", "Box", "Disc", "Drawing", "Path", "Role", "Shape", "Text", "corners"]

Role = Literal[
    "text",
    "muted",
    "edge",
    "tree",
    "grid",
    "low",
    "middle",
    "high",
    "one",
    "two",
    "three",
    "four",
    "five",
]


@dataclass(frozen=True)
class Text:
    """A line of text; (x, y) is the end, start or middle of its baseline, which it turns about."""

    x: float
    y: float
    text: str
    size: float
    role: Role = "text"
    anchor: Literal["start", "middle", "end"] = "middle"
    angle: float = 0.0
    bold: bool = False
    tip: str = ""


@dataclass(frozen=True)
class Box:
    """A rectangle: filled, or an outline if it has a stroke."""

    x: float
    y: float
    width: float
    height: float
    role: Role
    opacity: float = 1.0
    stroke: float = 0.0
    tip: str = ""


@dataclass(frozen=True)
class Disc:
    """A dot."""

    x: float
    y: float
    radius: float
    role: Role
    tip: str = ""


@dataclass(frozen=True)
class Path:
    """Straight lines from point to point."""

    points: Sequence[tuple[float, float]]
    role: Role
    stroke: float = 1.0
    dashes: str = ""


@dataclass(frozen=True)
class Arc:
    """Half an ellipse above the line y, from head to dependent, with an arrowhead there."""

    start: float
    end: float
    y: float
    height: float
    role: Role
    stroke: float
    opacity: float
    tip: str
    traced: bool = False  # by a hairline that does not fade with the opacity


Shape = Text | Box | Disc | Path | Arc


@dataclass
class Drawing:
    """A picture.

    Attributes:
        width, height: its size.
        title: what it shows, for those who cannot see it.
        description: the same at more length.
        shapes: from the back to the front.
    """

    width: float
    height: float
    title: str
    description: str
    shapes: list[Shape] = field(default_factory=list)


def corners(text: Text) -> list[tuple[float, float]]:
    """The four corners of the box that a text may fill, its line's height included."""
    width = written_width(text.text, text.size, bold=text.bold)
    left = {"start": 0.0, "middle": -width / 2, "end": -width}[text.anchor]
    top, bottom = -(LINE - 0.3) * text.size, 0.3 * text.size
    turn = radians(text.angle)
    return [
        (text.x + x * cos(turn) - y * sin(turn), text.y + x * sin(turn) + y * cos(turn))
        for x, y in ((left, top), (left + width, top), (left + width, bottom), (left, bottom))
    ]
