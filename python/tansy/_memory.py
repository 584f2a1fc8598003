"""A drawing of what is alive in memory while a derivative runs, as SVG: one stepped line for each policy, which meet where
the forward part ends."""

from html import escape
from typing import NamedTuple

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_UNITS = ((1024.0**4, "TiB"), (1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "B"))
_WIDTH, _LEFT, _RIGHT, _PLOT, _HEAD, _ROW = 960, 90, 936, 360, 56, 20


class Profile(NamedTuple):
    """What is alive in the arena of a derivative under a policy (tn_memory_profile)."""

    policy: str
    bytes: list  # at each step
    backward: int  # the first step of the backward part
    kept: int  # bytes that the forward part leaves to the backward one
    peak: int  # of the arena


def _bytes(n):
    size, name = next((s, u) for s, u in _UNITS if n >= s or s == 1)
    return f"{n / size:.2f} {name}" if size > 1 else f"{n} B"


def _step(x, wanted):
    """1, 2 or 5 times a power of ten, the smallest with at most `wanted` steps to x."""
    power = 10.0 ** len(str(int(x)))
    while power * wanted >= x and power > 1e-3:
        power /= 10
    return next(k * power for k in (1, 2, 5, 10, 20) if k * power * wanted >= x)


def draw(profiles, title):
    before = max(1, *(p.backward for p in profiles))
    after = max(1, *(len(p.bytes) - p.backward for p in profiles))
    before, after = max(before, after / 7), max(after, before / 7)  # room for the name of a half
    most = max(1, *(max(p.peak, *p.bytes) for p in profiles))
    unit, name = next((s, u) for s, u in _UNITS if most >= s or s == 1)
    tick = _step(most / unit, 6) * unit
    top = (int(most / tick * 1.0001) + 1) * tick
    y1 = _HEAD + _ROW * (len(profiles) + 1) + 34
    y0 = y1 + _PLOT
    at_x = lambda i: _LEFT + (_RIGHT - _LEFT) * (before + i) / (before + after)
    at_y = lambda b: y0 - (y0 - y1) * b / top
    text = lambda x, y, s, more="": f"<text x='{x:.1f}' y='{y:.1f}'{more}>{escape(str(s))}</text>"
    line = lambda x, y, u, v, more: f"<line x1='{x:.1f}' y1='{y:.1f}' x2='{u:.1f}' y2='{v:.1f}' {more}/>"
    middle, end = at_x(0), " text-anchor='end'"
    out = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {y0 + 62}' width='{_WIDTH}' height='{y0 + 62}' "
        "role='img' font-family='Helvetica, Arial, sans-serif' font-size='13' fill='#1a1a1a'>",
        f"<title>{escape(title)}</title><rect width='{_WIDTH}' height='{y0 + 62}' fill='#fff'/>",
        text(_LEFT, 26, title, " font-size='17' font-weight='bold'"),
        text(620, _HEAD, "peak", end) + text(760, _HEAD, "kept", end),
        f"<rect x='{_LEFT}' y='{y1}' width='{middle - _LEFT:.1f}' height='{_PLOT}' fill='#f1f4f8'/>",
        f"<rect x='{middle:.1f}' y='{y1}' width='{_RIGHT - middle:.1f}' height='{_PLOT}' fill='#fbf8f2'/>",
    ]
    for k in range(int(top / tick + 0.5) + 1):
        y = at_y(k * tick)
        out.append(line(_LEFT, y, _RIGHT, y, "stroke='#ccd1d9' stroke-width='0.8'" if k else "stroke='#555'"))
        out.append(text(_LEFT - 8, y + 4.5, f"{k * tick / unit:g} {name}", end))
    step = max(1, int(_step(before + after, 12)))
    for i in [*range(-step, -int(before) - 1, -step), *range(0, int(after) + 1, step)]:
        out.append(line(at_x(i), y0, at_x(i), y0 + 5, "stroke='#555'"))
        out.append(text(at_x(i), y0 + 20, abs(i), " text-anchor='middle'"))
    out.append(line(middle, y1 - 24, middle, y0, "stroke='#222' stroke-width='1.5'"))
    out.append(text(middle - 10, y1 - 9, "\u2190 forward", end) + text(middle + 10, y1 - 9, "backward \u2192"))
    steps = "steps before and after the end of the forward part"
    out.append(text((_LEFT + _RIGHT) / 2, y0 + 44, steps, " text-anchor='middle' fill='#555'"))
    for k, p in enumerate(profiles):
        colour = f"stroke='{_COLOURS[k % len(_COLOURS)]}' stroke-width='{2.2 + 0.9 * (len(profiles) - 1 - k):.1f}'"
        colour += " stroke-dasharray='11 11'" if k >= len(_COLOURS) else ""
        path, last = [f"M{at_x(-p.backward):.1f} {y0}"], None
        for i, b in enumerate(p.bytes):
            if b != last:
                path.append(f"H{at_x(i - p.backward):.1f}V{at_y(b):.1f}")
                last = b
        path.append(f"H{at_x(len(p.bytes) - p.backward):.1f}V{y0}")
        out.append(f"<path d='{''.join(path)}' fill='none' {colour}/>")
        y = _HEAD + _ROW * (k + 1)
        out.append(line(_LEFT, y - 4, _LEFT + 34, y - 4, colour) + text(_LEFT + 44, y, p.policy))
        out.append(text(620, y, _bytes(p.peak), end) + text(760, y, _bytes(p.kept), end))
    return "\n".join([*out, "</svg>", ""])
