"""Making an SVG safe to put into a page: only known elements and attributes stay, ids become its own, styles become attributes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
ELEMENTS = {
    "svg",
    "g",
    "path",
    "defs",
    "use",
    "clipPath",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "text",
    "tspan",
    "title",
}
PROPERTIES = {
    "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset",
    "stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "opacity", "font-size", "font-weight", "font-style", "text-anchor",
}  # fmt: skip
GEOMETRY = {
    "d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "points", "transform", "viewBox",
    "clip-path", "clip-rule", "id",
}  # fmt: skip


def embeddable(svg: str, name: str, label: str) -> str:
    """An `<svg>` element for a page with a strict content security policy, from the text of an SVG file.

    Scripts, event handlers, style sheets, foreign content and references outside the drawing are left out; inline styles become
    presentation attributes (the policy forbids style attributes, and the page's style sheet may recolour them); ids are prefixed with
    `name`, so that several drawings can share a page. `label` is what a screen reader says. ValueError when it is not an SVG.
    """
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"figure {name}: not an SVG file ({error}). Draw it again.") from None
    if root.tag != f"{{{SVG}}}svg":
        raise ValueError(f"figure {name}: the root element is {root.tag}, expected an svg element")
    clean = _clean(root, name)
    assert clean is not None
    for attribute in ("width", "height"):
        clean.attrib.pop(attribute, None)
    clean.set("role", "img")
    clean.set("aria-label", label)
    return ElementTree.tostring(clean, encoding="unicode")


def _clean(element: ElementTree.Element, name: str) -> ElementTree.Element | None:
    namespace, _, tag = element.tag.rpartition("}")
    if namespace != f"{{{SVG}" or tag not in ELEMENTS:
        return None
    copy = ElementTree.Element(tag)
    for key, value in element.attrib.items():
        if key in GEOMETRY or key in PROPERTIES:
            copy.set(key, _local(value, name) if key != "id" else f"{name}-{value}")
        elif key in ("href", f"{{{XLINK}}}href") and value.startswith("#"):
            copy.set("href", f"#{name}-{value[1:]}")
    for declaration in element.get("style", "").split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key in PROPERTIES:
            copy.set(key, _local(value, name))
    copy.text, copy.tail = element.text, element.tail
    for child in element:
        kept = _clean(child, name)
        if kept is not None:
            copy.append(kept)
    return copy


def _local(value: str, name: str) -> str:
    """A value whose references point into this drawing; a reference to anywhere else is gone."""
    return re.sub(r"url\(\s*['\"]?(#?)([^'\")]*)['\"]?\s*\)", lambda match: f"url(#{name}-{match[2]})" if match[1] else "none", value)
