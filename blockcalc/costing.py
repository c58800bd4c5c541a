"""What is said of shapes and costs: plans to documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import log2, prod

from blockcalc.card import dims
from blockcalc.closed import Form, plus, written
from blockcalc.cost import BITS, GROUPS, WEIGHTS_ONLY, Cost, Parameter, Plan
from blockcalc.document import Bar, Column, Entry, Head, Heading, Listing, Piece, Remark
from blockcalc.notation import Text
from blockcalc.plans import fitting, resized
from blockcalc.program import listed
from blockcalc.titles import say

MOST_TOKENS = 2**40
TEXT = Text()
LETTERS = {"tokens": "T", "batch": "B", "d_model": "C", "d_ff": "F", "heads": "H"}
THOUSANDS = "kMGTPE"
UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def cost_pieces(plan: Plan, double: str | None = None) -> Iterator[Piece]:
    """Say what a plan costs; with ``double``, how that grows along an axis as well."""
    cost = Cost(plan, fitting(plan))
    larger = doubled(cost, double) if double else []
    yield cost_head(cost)
    if double:
        yield from growth(cost, larger, double)
        return
    yield Heading(say("heading.parameters"), prose=say("prose.parameters"))
    yield parameters(cost)
    if not cost.program.blocks and cost.parameters:
        yield Remark(say("cost.parameters", form=TEXT.render(written(_sum(cost.parameters)))))
    if plan.lora:
        yield from lora(cost)
    yield Heading(say("heading.operations"), prose=say("prose.operations"))
    yield operations(cost)
    forms = plus(*(step.form for step in cost.steps if step.form))
    if forms and not cost.program.blocks:
        yield Remark(say("cost.products", form=TEXT.render(written(forms))))
    yield from overtaking(cost)
    several = len(plan.spec.blocks) > 1
    yield Heading(
        say("heading.memory.all" if several else "heading.memory"), prose=say("prose.memory")
    )
    yield memory(cost)
    yield Heading(say("heading.training"), prose=say("prose.training", **_types(cost)))
    yield training(cost)
    if plan.dtype in WEIGHTS_ONLY and not plan.lora:
        yield Remark(say("cost.not_trained", dtype=plan.dtype))


def cost_head(cost: Cost) -> Head:
    """Say what is counted, and how."""
    plan = cost.plan
    facts: list[tuple[str, tuple[str, ...]]] = []
    facts += [(say("fact.source"), (plan.source,))] if plan.source else []
    facts.append((say("fact.letters"), (_letters(cost),)))
    facts.append((say("fact.order"), (say(f"order.{plan.spec.order}"),)))
    if plan.layers > 1:
        facts.append((say("fact.layers"), (say("cost.layers", n=_grouped(plan.layers)),)))
    mixed = plan.dtype in WEIGHTS_ONLY
    words = {"dtype": plan.dtype, "bits": BITS[plan.dtype]}
    how = (
        say("cost.flops"),
        say("cost.bytes.mixed" if mixed else "cost.bytes", **words),
        say("cost.shapes_only"),
    )
    facts.append((say("fact.counting"), how))
    if mixed:
        names = [p.ref.name for p in cost.parameters if p.kind == "matrix"]
        others = [p.ref.name for p in cost.parameters if p.kind != "matrix"]
        rest = listed(others) or say("dtype.none")
        touched = say("dtype.touched", dtype=plan.dtype, names=listed(names))
        facts.append((say("fact.dtype"), (touched, say("dtype.untouched", names=rest))))
    title = say("cost.title.of", title=plan.title) if plan.title else say("cost.title")
    return Head(title, None, tuple(facts), ())


def _letters(cost: Cost) -> str:
    sizes = cost.forms.sizes
    return ", ".join(say(f"letter.{x}", n=_grouped(sizes[x])) for x in "BTCHGKDVF" if x in sizes)


# tables -----------------------------------------------------------------------------------


def parameters(cost: Cost) -> Listing:
    """List what is learned: each matrix, the parts, the block, the model."""
    rows: list[tuple[Entry, ...]] = []
    totals: list[int] = []
    own = _once(cost)
    most = cost.parameters_of() or 1

    def add(
        name: str, shape: str, form: Form | None, count: int, total: bool = False, own: bool = True
    ) -> None:
        share: Entry = Bar(count / most) if own else ""
        rows.append((name, shape, written(form) if form else "", _grouped(count), share))
        if total:
            totals.append(len(rows) - 1)

    for p in own:
        add(p.ref.name, dims(p.ref.shape), p.form, p.count)
    for part, kind in (
        ("attn", "matrix"),
        ("attn", "bias"),
        ("ffn", "matrix"),
        ("ffn", "bias"),
        ("", "norm"),
    ):
        some = [p for p in own if kind == p.kind and part in ("", p.part)]
        if len(some) > 1:
            key = "total.norm" if kind == "norm" else f"total.{part}.{kind}"
            add(say(key), "", _sum(some), sum(p.count for p in some), True)
    name = say("total.blocks" if len(cost.plan.spec.blocks) > 1 else "total.block")
    add(name, "", None, cost.parameters_of(), True)
    _beside(cost, add)
    columns = ("name", "shape", "form", "count", "share")
    return _listing(columns, rows, totals)


def _beside(cost: Cost, add: object) -> None:
    """Add the layers, and what a model has beside them."""
    plan = cost.plan
    assert callable(add)
    if plan.layers > 1:
        every = cost.parameters_of() * plan.layers
        add(say("total.layers", n=_grouped(plan.layers)), "", None, every, True, False)
    for own in plan.outside:
        name = say("total.tied", name=own.name) if own.tied else own.name
        add(name, dims(own.shape), None, 0 if own.tied else prod(own.shape), False, False)
    if plan.outside:
        add(say("total.model"), "", None, cost.parameters_of_all, True, False)


def _once(cost: Cost) -> list[Parameter]:
    """Give the parameters of every block, or of the first where all blocks are alike."""
    blocks: dict[str, list[Parameter]] = {}
    for p in cost.parameters:
        start = p.ref.name.rpartition(f"{p.part}.")[0]
        blocks.setdefault(start, []).append(p)
    looks = [[(p.part, p.kind, p.ref.shape) for p in own] for own in blocks.values()]
    alike = len(looks) > 1 and all(look == looks[0] for look in looks)
    return next(iter(blocks.values())) if alike else list(cost.parameters)


def _sum(some: Iterable[Parameter]) -> Form:
    return plus(*(p.form for p in some))


def operations(cost: Cost) -> Listing:
    """List the operations of each step, then of each group."""
    rows: list[tuple[Entry, ...]] = []
    totals: list[int] = []
    all_of = cost.flops_of() or 1
    for step in cost.steps:
        if step.flops:
            closed: Entry = written(plus(step.form, step.bias or {})) if step.form else ""
            per = _per(step.intensity)
            rows.append(
                (step.eq.out.name, closed, _grouped(step.flops), per, Bar(step.flops / all_of))
            )
    for group in GROUPS:
        if n := cost.flops_of(group):
            totals.append(len(rows))
            rows.append((say(f"group.{group}"), "", _grouped(n), "", Bar(n / all_of)))
    products = cost.flops_of(products=True)
    moved = sum(step.moved for step in cost.steps)
    for name, n, per in (
        (say("total.block"), all_of, _per(all_of / moved)),
        (say("total.products"), products, ""),
    ):
        totals.append(len(rows))
        rows.append((name, "", _grouped(n), per, Bar(n / all_of)))
    for name, text in _model_flops(cost):
        totals.append(len(rows))
        rows.append((name, "", text, "", ""))
    return _listing(("step", "form", "flops", "intensity", "share"), rows, totals)


def _model_flops(cost: Cost) -> Iterator[tuple[str, str]]:
    plan, sizes = cost.plan, cost.forms.sizes
    tokens = sizes.get("B", 1) * sizes["T"]
    total = cost.flops_of() * plan.layers
    if plan.layers > 1:
        yield say("total.layers", n=_grouped(plan.layers)), _grouped(total)
    for own in plan.outside:
        if own.product:
            n = 2 * tokens * prod(own.shape)
            total += n
            yield own.name, _grouped(n)
    if plan.outside:
        yield say("total.model"), _grouped(total)
    yield say("total.token"), ("≈ " if total % tokens else "") + _grouped(round(total / tokens))


def overtaking(cost: Cost) -> Iterator[Piece]:
    """Say where attention overtakes the FFN, if there are both."""
    if cost.flops_of("scores") and cost.flops_of("ffn"):
        yield Remark(overtakes(cost))


def overtakes(cost: Cost) -> str:
    """Say from how many tokens on attention takes more operations than the FFN."""
    tokens = cost.forms.sizes["T"]

    def ahead(n: int) -> bool:
        plan = resized(cost.plan, cost.program, "tokens", n, tokens)
        own = Cost(plan, fitting(plan))
        return own.flops_of("projections", "scores", products=True) > own.flops_of(
            "ffn", products=True
        )

    if ahead(1):
        return say("cost.overtakes.always")
    low, high = 1, 2
    while not ahead(high):
        low, high = high, high * 2
        if high > MOST_TOKENS:
            return say("cost.overtakes.never")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ahead(middle) else (middle, high)
    return say("cost.overtakes", n=_grouped(high))


def memory(cost: Cost) -> Listing:
    """List what every step writes, and what is kept."""
    kept = {k.ref.name for k in cost.kept}
    total = cost.intermediate_bytes or 1
    rows: list[tuple[Entry, ...]] = []
    first = [k for k in cost.kept if k.ref.role != "computed"]
    for k in first:
        rows.append(
            (
                k.ref.name,
                dims(k.ref.shape),
                _grouped(k.bytes),
                _size(k.bytes),
                say("memory.mark"),
                "",
            )
        )
    for step in cost.steps:
        ref, n = step.eq.out, step.written
        mark = say("memory.mark") if ref.name in kept else ""
        rows.append((ref.name, dims(ref.shape), _grouped(n), _size(n), mark, Bar(n / total)))
    totals = []
    one = sum(k.bytes for k in cost.kept)
    for key, n in (("written", total), ("kept", one), ("scores", cost.score_bytes)):
        totals.append(len(rows))
        rows.append(
            (
                say(f"memory.{key}"),
                "",
                _grouped(n),
                _size(n),
                "",
                Bar(n / total) if n <= total else "",
            )
        )
    return _listing(("step", "shape", "bytes", "size", "kept", "share"), rows, totals)


def training(cost: Cost) -> Listing:
    """List the memory of training, and of the cache while a model writes."""
    own = cost.training
    total = sum(own.values()) or 1
    several = cost.plan.layers > 1
    names = {key: say(f"memory.{key}") for key in own}
    if several:
        names["kept"] = say("memory.kept.layers", n=cost.plan.layers)
    rows: list[tuple[Entry, ...]] = [
        (names[key], _grouped(n), _size(n), Bar(n / total)) for key, n in own.items()
    ]
    rows.append((say("memory.training"), _grouped(total), _size(total), ""))
    if cost.cache_bytes:
        cache = say("memory.cache.layers", n=cost.plan.layers) if several else say("memory.cache")
        rows.append((cache, _grouped(cost.cache_bytes), _size(cost.cache_bytes), ""))
    return _listing(("what", "bytes", "size", "share"), rows, [len(own)])


def _types(cost: Cost) -> dict[str, str]:
    """Name the types of gradients and moments."""
    bits = cost.other_bits
    copy = say("training.copy") if bits == 16 else ""
    return {"bits": str(bits), "wide": str(max(bits, 32)), "copy": copy}


def lora(cost: Cost) -> Iterator[Piece]:
    """Say what LoRA adds, and which matrices it leaves alone."""
    rank = cost.plan.lora
    yield Heading(say("heading.lora"), prose=say("prose.lora", rank=rank))
    once = [p.ref.name for p in _once(cost) if p.kind == "matrix"]
    rows: list[tuple[Entry, ...]] = []
    for a in cost.adapters:
        if a.name in once:
            pair = f"{dims((a.shape[0], rank))} + {dims((rank, a.shape[1]))}"
            rows.append((a.name, pair, _grouped(a.count), f"{100 * a.count / prod(a.shape):.3g} %"))
    yield _listing(("name", "shape", "added", "of_matrix"), rows, [])
    added = sum(a.count for a in cost.adapters) * cost.plan.layers
    names = {a.name for a in cost.adapters}
    left = [name for name in once if name not in names]
    share = f"{100 * added / (cost.parameters_of_all + added):.3g} %"
    counted = {
        "added": _grouped(added),
        "share": share,
        "all": _grouped(cost.parameters_of_all + added),
    }
    yield Remark(
        f"{say('lora.trained', **counted)}; {say('lora.untouched', names=listed(left) or say('lora.none'))}."
    )


# growth -----------------------------------------------------------------------------------


def doubled(cost: Cost, axis: str) -> list[Cost]:
    """Count a block with an axis doubled, and doubled again."""
    plans = (resized(cost.plan, cost.program, axis, n) for n in (2, 4))
    return [Cost(plan, fitting(plan)) for plan in plans]


def growth(cost: Cost, larger: Sequence[Cost], axis: str) -> Iterator[Piece]:
    """Set a block beside those that are larger along an axis."""
    costs = [cost, *larger]
    prose = say("prose.growth", axis=axis)
    if axis in ("d_model", "heads"):
        prose += " " + say(f"growth.note.{axis}")
    yield Heading(say("heading.growth"), prose=prose)
    rows: list[tuple[Entry, ...]] = []
    for key, counts in grown(costs):
        if any(counts):
            write = _size if key.startswith("bytes.") else _compact
            rows.append((say(f"growth.{key}"), *map(write, counts), exponent(counts)))
    now = cost.plan.layers if axis == "layers" else cost.forms.sizes.get(LETTERS[axis], 1)
    columns = [Column(say("column.what"), "text")]
    columns += [Column(f"{axis} {_grouped(now * n)}", "number") for n in (1, 2, 4)]
    columns.append(Column(say("column.exponent"), "number"))
    yield Listing(tuple(columns), tuple(rows))
    yield from overtaking(cost)


def grown(costs: Sequence[Cost]) -> Iterator[tuple[str, list[int]]]:
    """Give the counts that are set side by side, of all layers."""
    yield "parameters", [c.parameters_of() * c.plan.layers for c in costs]
    for group in GROUPS:
        yield group, [c.flops_of(group) * c.plan.layers for c in costs]
    yield "operations", [c.flops_of() * c.plan.layers for c in costs]
    yield "bytes.scores", [c.score_bytes for c in costs]
    yield "bytes.cache", [c.cache_bytes for c in costs]
    yield "bytes.kept", [c.kept_bytes for c in costs]


def exponent(counts: Sequence[int]) -> str:
    """Say by which power counts grow that belong to 1, 2 and 4.

    Examples
    --------
    >>> exponent([3, 6, 12]), exponent([5, 5, 5]), exponent([10, 25, 70])
    ('1', '0', '1.32 → 1.49')
    """
    first, last = (log2(b / a) if a else 0.0 for a, b in pairwise(counts))
    a, b = f"{first:.3g}", f"{last:.3g}"
    return a if a == b else f"{a} → {b}"


# shapes -----------------------------------------------------------------------------------


def shape_pieces(plan: Plan) -> Iterator[Piece]:
    """Walk through the shapes, with the rule that makes each."""
    cost = Cost(plan, fitting(plan))
    head = cost_head(cost)
    kept = tuple(f for f in head.facts if f[0] != say("fact.counting"))
    kept += ((say("fact.walk"), (in_short(cost),)),)
    title = say("shapes.title.of", title=plan.title) if plan.title else say("shapes.title")
    yield Head(title, None, kept, ())
    yield Heading(say("heading.walk"), prose=say("prose.walk"))
    yield walk(cost)


def walk(cost: Cost) -> Listing:
    """List every matrix with its axes and its shape, in the order of use."""
    rows: list[tuple[Entry, ...]] = []
    program = cost.program

    def add(name: str, axes: Sequence[str], shape: Sequence[int], rule: str) -> None:
        rows.append((name, _bracketed(cost, axes, shape), dims(shape), rule))

    shown = set()
    for eq in program.equations:
        for ref in eq.inputs:
            if ref.role != "computed" and ref.name not in shown:
                shown.add(ref.name)
                add(ref.name, ref.axes, ref.shape, say("rule.given"))
        add(eq.out.name, eq.out.axes, eq.out.shape, eq.op.rule(eq.inputs))
    return _listing(("name", "axes", "shape", "rule"), rows, [])


def _bracketed(cost: Cost, axes: Sequence[str], shape: Sequence[int]) -> str:
    """Write axes in letters: [B, H, T, D]."""
    forms = cost.forms.each(axes, shape)
    return "[" + ", ".join(TEXT.render(written(form)) for form in forms) + "]"


STATIONS = (
    "attn.q_heads",
    "attn.q",
    "attn.scores",
    "attn.z",
    "attn.out",
    "ffn.pre",
    "ffn.gate",
    "ffn.out",
)


def in_short(cost: Cost) -> str:
    """Draw the walk of the first block in a line: [T, C] → [H, T, D] → [H, T, T] → …."""
    program = cost.program
    last = program.blocks[0].last if program.blocks else len(program.equations)
    found = [_bracketed(cost, program.inputs[0].axes, program.inputs[0].shape)]
    for eq in program.equations[:last]:
        if eq.out.name.endswith(STATIONS):
            text = _bracketed(cost, eq.out.axes, eq.out.shape)
            found += [text] if text != found[-1] else []
    return " → ".join(found)


# numbers ----------------------------------------------------------------------------------

KINDS = {
    "name": "name", "step": "name", "what": "text", "shape": "text", "form": "formula", "rule": "text", "axes": "text",
    "kept": "text", "share": "bar",
}  # fmt: skip


def _listing(
    columns: Sequence[str], rows: Sequence[tuple[Entry, ...]], totals: Sequence[int]
) -> Listing:
    heads = tuple(Column(say(f"column.{key}"), KINDS.get(key, "number")) for key in columns)
    return Listing(heads, tuple(rows), tuple(totals))


def _grouped(n: int) -> str:
    """Write a whole number in groups of three: 1,769,472."""
    return f"{n:,}"


def _compact(n: int) -> str:
    """Write a count; a long one with four digits and the letter of its thousands.

    Examples
    --------
    >>> _compact(85054464), _compact(3072)
    ('85.05 M', '3,072')
    """
    if n < 10**6:
        return _grouped(n)
    power = min((len(str(n)) - 1) // 3, len(THOUSANDS))
    return f"{n / 1000**power:.4g} {THOUSANDS[power - 1]}"


def _per(x: float) -> str:
    """Write operations for each byte."""
    return f"{x:,.0f}" if x >= 1000 else f"{x:.3g}"


def _size(n: int) -> str:
    """Write bytes in the largest binary unit that leaves at least 1.

    Examples
    --------
    >>> _size(134217728), _size(1536), _size(7)
    ('128 MiB', '1.5 KiB', '7 B')
    """
    power = 0
    while power < len(UNITS) - 1 and n >= 1024 ** (power + 1):
        power += 1
    return f"{n / 1024**power:.4g} {UNITS[power]}"
