r"""The definitions of a Typst document: what its body calls.

Typst measures every part itself, so small steps share a line, what is wider than the page goes on
below, and a single matrix that is too wide is made smaller. Matrices are tables and titles are
headings, so that the pages can be read aloud; formulas carry their plain text.
"""

from __future__ import annotations

from collections.abc import Sequence

from blockcalc.messages import say
from blockcalc.views.picture.shades import GROUNDS, INKS, QUIET
from blockcalc.views.typst.text import array, chinese, quoted

FONTS = ("New Computer Modern", "New Computer Modern Math")  # both come with Typst


def _colour(code: str) -> str:
    """Write a colour."""
    return f"rgb({quoted(code)})"


def _colours(codes: Sequence[str]) -> str:
    """Write colours."""
    return array(map(_colour, codes))


_CHINESE = r"""#show regex("\\p{Han}+"): set text(lang: "zh")
"""
_PAGE = r"""#set page(paper: "a4", margin: (x: 18mm, top: 16mm, bottom: 16mm), numbering: "1")
#set par(justify: false, leading: 0.55em, spacing: 0.6em)
#set table(stroke: none)
#show heading: set text(size: 10pt)
#show heading: set block(above: 1.2em, below: 0.6em)
#show title: set text(size: 13pt)
#show title: set block(below: 0.8em)
"""

DEFINITIONS = (
    r"""#let block-width = 174mm
#let block-formula(alt, body) = math.equation(alt: alt, body.body)
// a long word may be broken anywhere
#let block-word(word) = word.clusters().join(box())
#let block-small(body) = block(above: 0.55em, below: 0.55em, text(size: 9pt, body))
#let block-note(body) = block-small(emph(body))
// what is wider than there is room for is made smaller
#let block-fit(body, width, room) = if width <= room { body } else {
  scale(room / width * 100%, origin: top + left, reflow: true, body)
}

// headings: a section, with its name and what it is about
#let block-section(level, title, name: none, prose: none, size: 12pt) = context {
  let title = heading(level: level, {
    text(size: size, title)
    if name != none { [ ]; h(0.35em); text(weight: "regular", name) } // a space for the outline
  })
  let prose = if prose != none { text(size: 9pt, prose) }
  if prose == none { return title }
  if measure(title).width + 12pt + measure(prose).width <= block-width {
    block(above: 1.4em, below: 0.7em, sticky: true,
      grid(columns: (auto, auto), column-gutter: 12pt, align: bottom, title, prose))
  } else {
    title
    block(above: 0.5em, below: 0.7em, sticky: true, prose)
  }
}
#let block-facts(..pairs) = block(above: 0.7em, below: 0.7em, text(size: 9pt, grid(
  columns: (auto, 1fr), column-gutter: 0.6em, row-gutter: 0.45em,
  ..pairs.pos().map(((name, body)) => (strong(name), body)).flatten())))

// colours of heat maps, light to dark
#let block-grounds = GROUNDS
#let block-inks = INKS
#let block-grey = GREY

// matrices: numbers in brackets, labels beside them, the symbol below
#let block-lit(number) = table.cell(fill: rgb("#fff1c2"), text(stroke: 0.3pt, number))
#let block-worked(number) = box(
  stroke: 0.6pt + rgb("#9a6700"), fill: rgb("#ffd866"), outset: (x: 2.2pt, y: 0.8pt), number)
#let block-blank(number) = box(width: 4.2em, height: 1.9em, baseline: 35%, stroke: 0.6pt,
  align(left + top, pad(left: 1.5pt, top: 1.5pt, text(size: 6.5pt, number))))
#let block-room(width) = box(width: width, baseline: 2pt, stroke: (bottom: 0.5pt), height: 1.6em)
#let block-power(digits, power) = digits + "×10" + super(typographic: false, size: 0.75em, power)
#let block-padded(number, missing) = number + hide(missing)
#let block-label(body) = box(width: 42mm, align(right, par(justify: false, body)))
#let block-shade(n, number) = table.cell(fill: block-grounds.at(n), text(fill: block-inks.at(n), number))
#let block-quiet(number) = text(fill: block-grey, number)
#let block-inset = (x: 3.1pt, y: 1.9pt)
#let block-corner(vertical, side) = place(vertical + side,
  dx: if side == left { -block-inset.x } else { block-inset.x },
  dy: if vertical == top { -block-inset.y } else { block-inset.y },
  line(length: 2.6pt, stroke: 0.6pt))
#let block-matrix(columns, labels: none, heads: none, under: none, shaded: false, ..entries) = {
  let beside = if labels == none { 0 } else { 1 }
  let above = if heads == none { 0 } else { 1 }
  let rows = calc.div-euclid(entries.pos().len(), columns)
  let corners(i, j) = {
    for (edge, at) in ((top, 0), (bottom, rows - 1)) {
      if i == at and j == 0 { block-corner(edge, left) }
      if i == at and j == columns - 1 { block-corner(edge, right) }
    }
  }
  let cells = ()
  for i in range(rows) {
    if labels != none { cells.push(labels.at(i) + h(1.5pt)) }
    for j in range(columns) {
      let entry = entries.pos().at(i * columns + j)
      let edge = not shaded and (i == 0 or i == rows - 1) and (j == 0 or j == columns - 1)
      cells.push(if not edge { entry } else if type(entry) == content and entry.func() == table.cell {
        table.cell(fill: entry.fill, corners(i, j) + entry.body)
      } else { corners(i, j) + entry })
    }
  }
  let line(x) = table.vline(x: x, start: above, stroke: if shaded { none } else { 0.6pt })
  let top-row = if heads != none {
    (table.header(repeat: false, ..(if labels != none { ("",) } else { () }), ..heads),)
  } else { () }
  let body = text(size: 9pt, top-edge: 0.72em, bottom-edge: -0.2em, table(
    columns: beside + columns, inset: block-inset, align: right + horizon,
    ..top-row, line(beside), line(beside + columns), ..cells))
  (body: body, labels: labels, heads: heads, under: under)
}
// measure a matrix: ``above`` is what stands over its middle
#let block-measured(matrix) = {
  let tall(it) = measure(text(size: 9pt, top-edge: 0.72em, bottom-edge: -0.2em, it))
  let size = measure(matrix.body)
  let left = if matrix.labels == none { 0pt } else {
    calc.max(..matrix.labels.map(it => tall(it).width)) + 1.5pt + 2 * block-inset.x }
  let head = if matrix.heads == none { 0pt } else {
    calc.max(..matrix.heads.map(it => tall(it).height)) + 2 * block-inset.y }
  let body = matrix.body
  let width = size.width
  let height = size.height
  if matrix.under != none {
    let under = text(size: 7.5pt, top-edge: "bounds", bottom-edge: "bounds", matrix.under)
    let own = measure(under)
    let middle = left + (size.width - left) / 2
    let shift = calc.max(0pt, own.width / 2 - middle)
    body = stack(spacing: 3pt, pad(left: shift, body), pad(left: shift + middle - own.width / 2, under))
    width = calc.max(size.width, middle + own.width / 2) + shift
    height = size.height + 3pt + own.height
  }
  (body: body, width: width, height: height, above: head + (size.height - head) / 2)
}
#let block-scaled(part, room) = if part.width <= room { part } else {
  let factor = room / part.width
  (body: block-fit(part.body, part.width, room), width: room, height: part.height * factor,
    above: part.above * factor)
}
// every part is measured once
#let block-parts(parts) = parts.map(part => if type(part) == dictionary { block-measured(part) } else {
  let sign = pad(left: 5.5pt, right: 4pt, part)
  let size = measure(sign)
  (body: sign, width: size.width, height: size.height, above: size.height / 2, sign: true)
})
#let block-gap = (body: [], width: 16pt, height: 0pt, above: 0pt, gap: true)
// parts in lines: a matrix with the signs before it stays together
#let block-units(parts, room) = {
  let units = ()
  let waiting = ()
  let after-matrix = false
  for part in parts {
    if part.at("sign", default: false) {
      waiting.push(part)
      after-matrix = false
    } else {
      let taken = waiting.map(it => it.width).sum(default: 0pt)
      if after-matrix { waiting.push(block-gap) }
      units.push((..waiting, block-scaled(part, room - taken)))
      waiting = ()
      after-matrix = true
    }
  }
  if waiting.len() > 0 { units.push(waiting) }
  units
}
#let block-width-of(unit) = unit.map(it => it.width).sum()
#let block-picture(parts, room, above: 0.7em) = {
  let rows = ()
  let used = 0pt
  for unit in block-units(parts, room) {
    if rows.len() == 0 or used + block-width-of(unit) > room {
      rows.push(())
      used = 0pt
      unit = unit.filter(it => not it.at("gap", default: false))
    }
    rows.last() += unit
    used += block-width-of(unit)
  }
  for row in rows {
    let tallest = calc.max(..row.map(it => it.above))
    block(breakable: false, above: above, below: 0.7em, grid(
      columns: row.map(it => it.width),
      ..row.map(it => pad(top: tallest - it.above, it.body))))
  }
}
#let block-natural(parts) = block-units(parts, 10000pt).map(block-width-of).sum(default: 0pt)

// things beside each other, as many as fit on a line
#let block-flow(gap: 16pt, ..things) = context {
  let rows = ((),)
  let used = 0pt
  for thing in things.pos() {
    let width = measure(thing).width
    let own = block-fit(thing, width, block-width)
    width = calc.min(width, block-width)
    if rows.last().len() > 0 and used + width > block-width {
      rows.push(())
      used = 0pt
    }
    rows.last().push(own)
    used += width + gap
  }
  for row in rows {
    block(above: 0.8em, below: 0.8em, breakable: row.len() == 1, grid(
      columns: row.len(), column-gutter: gap, ..row))
  }
}
#let block-given(title, parts, notes) = context {
  block(below: 0.3em, sticky: true, text(size: 9pt, title))
  block-picture(block-parts(parts), block-width, above: 0.3em)
  for note in notes { note }
}

// arithmetic, aligned at its first sign
#let block-lines(..lines) = context {
  let small(it) = text(size: 9pt, it)
  let room = calc.max(..lines.pos().map(line => measure(small(line.first())).width))
  for (left, right) in lines.pos() {
    block(above: 0.5em, below: 0.55em, small(par(hanging-indent: room + 1.2em,
      box(width: room, align(end, left)) + h(0.28em) + right)))
  }
}
#let blockfrac(above, below) = math.display(math.frac(above, below))

// lists: headings above columns, bars for shares
#let block-bar(share, length) = box(width: 4em, align(right, share)) + h(0.4em) + box(
  rect(width: length, height: 0.5em, fill: luma(40%), stroke: none))
#let block-list(widths, sides, heads, ..cells) = block(above: 0.9em, below: 0.9em, text(size: 9pt, table(
  columns: widths, align: sides.map(side => side + top), inset: (x: 4pt, y: 2.4pt),
  table.header(..heads.map(strong)), table.hline(stroke: 0.5pt), ..cells)))

// steps: as many stand on a line as fit, in columns of the same width if they fit into those
#let block-between = 12pt
#let block-step(level, title, name, formula, shape, takes: none, picture: (), lead: none, lines: (), notes: ()) = (
  level: level, title: title, name: name, formula: formula, shape: shape, takes: takes,
  picture: picture, lead: lead, lines: lines, notes: notes)
#let block-least(step) = {
  let wide(it) = measure(it).width
  let small(it) = wide(text(size: 9pt, it))
  let lefts = step.lines.map(line => small(line.first()))
  let widest = (
    0.3 * block-width,
    block-natural(step.picture),
    ..step.lines.map(line => calc.max(..lefts) + 4pt + small(line.last())),
  )
  for short in (strong(step.title) + h(0.6em) + step.name, step.formula + h(1em) + text(size: 8pt, step.shape)) {
    let width = wide(short)
    if width < 0.45 * block-width { widest.push(width) }
  }
  let width = calc.max(..widest) + 1pt
  if width + 0.3 * block-width > block-width { block-width } else { width }
}
#let block-body(step, room) = {
  heading(level: step.level, step.title + [ ] + h(0.35em) + text(weight: "regular", step.name))
  block(above: 0.55em, below: 0.55em, sticky: true,
    step.formula + h(1em) + box(text(size: 8pt, step.shape)))
  if step.takes != none { block-small(step.takes) }
  block-picture(step.picture, room)
  if step.lead != none { block-small(step.lead) }
  if step.lines.len() > 0 { block-lines(..step.lines) }
  for note in step.notes { block-note(note) }
}
#let block-steps(..steps) = context {
  let rows = ()
  let used = block-width
  for step in steps.pos() {
    step.picture = block-parts(step.picture)
    let width = block-least(step)
    if used + block-between + width > block-width {
      rows.push(())
      used = -block-between
    }
    rows.last().push((step, width))
    used += block-between + width
  }
  for row in rows {
    let n = row.len()
    let room = block-width - (n - 1) * block-between
    let least = row.map(((_, width)) => width)
    let spare = (room - least.sum()) / n
    let widths = if calc.max(..least) <= room / n { least.map(_ => room / n) } else { least.map(it => it + spare) }
    let own = if n == 1 { block(width: block-width, block-body(row.first().first(), block-width)) } else {
      grid(columns: widths, column-gutter: block-between,
        ..row.zip(widths).map((((step, _), width)) => block(width: width, block-body(step, width))))
    }
    let large = row.any(((step, _)) => step.lines.len() > 8 or (
      step.picture.map(it => it.height).sum(default: 0pt) > 80mm))
    let tall = large and measure(block(width: block-width, own)).height > 120mm
    block(above: 1.15em, below: 1.15em, width: 100%, breakable: tall, own)
  }
}
""".replace("GROUNDS", _colours(GROUNDS))
    .replace("INKS", _colours(INKS))
    .replace("GREY", _colour(QUIET))
)


def head(title: str, language: str, families: Sequence[str], body: str) -> str:
    """Give the settings of a document.

    Parameters
    ----------
    title : str
        Its title, for readers and for windows.
    language : str
        ``en`` or ``zh``; in another document Chinese words are marked as such.
    families : sequence of str
        Fonts for what those of Typst lack.
    body : str
    """
    fonts = ", ".join(map(quoted, (*FONTS, *families)))
    own = f"#set document(title: {quoted(title)}, date: none)\n"
    own += f"#set text(size: 10pt, lang: {quoted(language)}, font: ({fonts}))\n"
    marks = _CHINESE if language != "zh" and chinese(body) else ""
    return f"// {say('typst.set')}\n{own}{marks}{_PAGE}"
