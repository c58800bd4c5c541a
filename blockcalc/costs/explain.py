"""Explain costs: make documents from plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from math import prod

from blockcalc.costs.closed_form import LETTERS, Form, form_text, plus, written
from blockcalc.costs.count import GROUPS, Cost, Parameter, counted
from blockcalc.costs.growth import doubled, growth, overtaking
from blockcalc.costs.plan import BITS, WEIGHTS_ONLY, Plan
from blockcalc.explain.document import Bar, Entry, Head, Heading, Listing, Piece, Remark, listing
from blockcalc.messages import known, say
from blockcalc.messages.words import clauses, dims, listed
from blockcalc.notation.quantities import compact, grouped, per_byte, significant, size, with_unit
from blockcalc.records import dataclass


def cost_pieces(plan: Plan, double: str | None = None) -> Iterator[Piece]:
    """Explain the costs of a plan; with ``double``, also their growth along an axis."""
    cost = counted(plan)
    larger = doubled(cost, double) if double else []
    yield cost_head(cost)
    if double:
        yield from growth(cost, larger, double)
        return
    yield Heading(say("heading.parameters"), prose=say("prose.parameters"))
    yield parameters(cost)
    yield from _alike(cost)
    if not cost.program.blocks and cost.parameters:
        yield Remark(say("cost.parameters", form=form_text(_sum(cost.parameters))))
    if plan.lora:
        yield from lora(cost)
    yield Heading(say("heading.operations"), prose=say("prose.operations"))
    yield operations(cost)
    forms = plus(*(step.form for step in cost.steps if step.form))
    if forms and not cost.program.blocks:
        yield Remark(say("cost.products", form=form_text(forms)))
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
    """Describe what is counted, and how."""
    plan = cost.plan
    facts: list[tuple[str, tuple[str, ...]]] = []
    facts += [(say("fact.source"), (plan.source,))] if plan.source else []
    facts.append((say("fact.letters"), (_letters(cost),)))
    facts.append((say("fact.order"), (say(f"order.{plan.spec.order}"),)))
    if plan.layers > 1:
        facts.append((say("fact.layers"), (say("cost.layers", n=grouped(plan.layers)),)))
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
    return Head(title, None, tuple(facts), tuple(_hints(cost)), headline(cost))


def headline(cost: Cost) -> str:
    """Give the parameters, the operations for each token and the KV cache in one line."""
    parts = [
        say("headline.parameters", n=compact(cost.parameters_of_all).replace("G", "B")),
        say("headline.flops", n=with_unit(round(cost.flops_of_all / cost.tokens), "FLOP")),
    ]
    if cost.cache_bytes:
        parts.append(say("headline.cache", size=size(cost.cache_bytes)))
    return " · ".join(parts)


def _hints(cost: Cost) -> Iterator[str]:
    """Note more tokens than the model supports, and adapters that save nothing."""
    plan, tokens = cost.plan, cost.forms.sizes["T"]
    if 0 < plan.positions < tokens:
        text = {"tokens": grouped(tokens), "positions": grouped(plan.positions)}
        yield say("cost.positions", **text)
    for name in [a.name for a in cost.adapters if a.rank >= min(a.shape)][:1]:
        yield say("cost.lora_rank", rank=plan.lora, name=name)


def _letters(cost: Cost) -> str:
    sizes = cost.forms.sizes
    return ", ".join(say(f"letter.{x}", n=grouped(sizes[x])) for x in LETTERS if x in sizes)


# tables -----------------------------------------------------------------------------------


def parameters(cost: Cost) -> Listing:
    """List the parameters: each matrix, the parts, the block, the model."""
    rows = _Rows(cost.parameters_of() or 1)
    for p in _once(cost):
        rows.add(p.ref.name, p.count, dims(p.ref.shape), p.form)
    for part, kind in (
        ("attn", "matrix"),
        ("attn", "bias"),
        ("ffn", "matrix"),
        ("ffn", "bias"),
        ("", "norm"),
    ):
        some = [p for p in cost.parameters if kind == p.kind and part in ("", p.part)]
        if len(some) > 1:
            key = "total.norm" if kind == "norm" else f"total.{part}.{kind}"
            rows.add(say(key), sum(p.count for p in some), form=_sum(some), total=True)
    rows.add(_whole(cost), cost.parameters_of(), total=True)
    _add_outside(cost, rows)
    columns = ("name", "shape", "form", "count", "share")
    return listing(columns, rows.rows, rows.totals)


def _whole(cost: Cost) -> str:
    return say("total.blocks" if len(cost.plan.spec.blocks) > 1 else "total.block")


@dataclass
class _Rows:
    """Rows of the list of parameters; ``most`` is the number in the whole block."""

    most: int
    rows: list[tuple[Entry, ...]] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)

    def add(
        self,
        name: str,
        count: int,
        shape: str = "",
        form: Form | None = None,
        *,
        total: bool = False,
        share: bool = True,
    ) -> None:
        """Add a row, a total or not, with its share of the block unless it is outside the block."""
        bar: Entry = Bar(count / self.most) if share else ""
        self.rows.append((name, shape, written(form) if form else "", grouped(count), bar))
        if total:
            self.totals.append(len(self.rows) - 1)


def _outside_word(name: str) -> str:
    """Name a matrix outside the blocks in the language in use; other names stay."""
    whole, dot, part = name.partition(".")
    key = f"outside.{whole.replace(' ', '_')}"
    return f"{say(key)}{dot}{part}" if known(key) else name


def _add_outside(cost: Cost, rows: _Rows) -> None:
    """Add the layers, and the matrices outside them."""
    plan = cost.plan
    if plan.layers > 1:
        count = cost.parameters_of() * plan.layers
        rows.add(say("total.layers", n=grouped(plan.layers)), count, total=True, share=False)
    for matrix in plan.outside:
        name = _outside_word(matrix.name)
        name = say("total.tied", name=name) if matrix.tied else name
        count = 0 if matrix.tied else matrix.count
        rows.add(name, count, dims(matrix.shape), share=False)
    if plan.outside:
        rows.add(say("total.model"), cost.parameters_of_all, total=True, share=False)


def _once(cost: Cost) -> list[Parameter]:
    """Give the parameters of all blocks, or of the first if all have the same shapes."""
    blocks: dict[str, list[Parameter]] = {}
    for p in cost.parameters:
        blocks.setdefault(p.block, []).append(p)
    shapes = [[(p.part, p.kind, p.ref.shape) for p in block] for block in blocks.values()]
    alike = len(shapes) > 1 and all(shape == shapes[0] for shape in shapes)
    return next(iter(blocks.values())) if alike else list(cost.parameters)


def _alike(cost: Cost) -> Iterator[Piece]:
    """Add a note if only the first block's parameters are listed."""
    if listed_once := len(_once(cost)):
        sets = len(cost.parameters) // listed_once
        if sets > 1:
            yield Remark(say("cost.alike", n=grouped(sets)))


def _sum(parameters: Iterable[Parameter]) -> Form:
    return plus(*(p.form for p in parameters))


def operations(cost: Cost) -> Listing:
    """List the operations of each step, then of each group."""
    rows: list[tuple[Entry, ...]] = []
    totals: list[int] = []
    total = cost.flops_of() or 1
    for step in cost.steps:
        if step.flops:
            closed: Entry = written(plus(step.form, step.bias or {})) if step.form else ""
            per = per_byte(step.intensity)
            rows.append(
                (step.eq.out.name, closed, grouped(step.flops), per, Bar(step.flops / total))
            )
    for group in GROUPS:
        if n := cost.flops_of(group):
            totals.append(len(rows))
            rows.append((say(f"group.{group}"), "", grouped(n), "", Bar(n / total)))
    products = cost.flops_of(products=True)
    moved = sum(step.moved for step in cost.steps)
    for name, n, per in (
        (_whole(cost), total, per_byte(total / moved)),
        (say("total.products"), products, ""),
    ):
        totals.append(len(rows))
        rows.append((name, "", grouped(n), per, Bar(n / total)))
    for name, text in _model_flops(cost):
        totals.append(len(rows))
        rows.append((name, "", text, "", ""))
    return listing(("step", "form", "flops", "intensity", "share"), rows, totals)


def _model_flops(cost: Cost) -> Iterator[tuple[str, str]]:
    """Give the rows of the whole model: all layers, the products outside them, one token."""
    plan, tokens, total = cost.plan, cost.tokens, cost.flops_of_all
    if plan.layers > 1:
        layers = cost.flops_of() * plan.layers
        yield say("total.layers", n=grouped(plan.layers)), grouped(layers)
    for matrix in plan.outside:
        if matrix.product:
            yield _outside_word(matrix.name), grouped(2 * tokens * matrix.count)
    if plan.outside:
        yield say("total.model"), grouped(total)
    yield say("total.token"), ("≈ " if total % tokens else "") + grouped(round(total / tokens))


def memory(cost: Cost) -> Listing:
    """List the bytes that every step writes, and those kept."""
    kept = {k.ref.name for k in cost.kept}
    total = cost.intermediate_bytes or 1

    def row(name: str, shape: str, n: int, mark: str, bar: bool) -> tuple[Entry, ...]:
        return name, shape, grouped(n), size(n), mark, Bar(n / total) if bar else ""

    mark = say("memory.mark")
    rows = [
        row(k.ref.name, dims(k.ref.shape), k.bytes, mark, False)
        for k in cost.kept
        if k.ref.role != "computed"
    ]
    for step in cost.steps:
        ref = step.eq.out
        rows.append(
            row(ref.name, dims(ref.shape), step.written, mark if ref.name in kept else "", True)
        )
    totals = range(len(rows), len(rows) + 3)
    needed = sum(k.bytes for k in cost.kept)
    for key, n in (("written", total), ("kept", needed), ("scores", cost.score_bytes)):
        rows.append(row(say(f"memory.{key}"), "", n, "", n <= total))
    return listing(("step", "shape", "bytes", "size", "kept", "share"), rows, totals)


def training(cost: Cost) -> Listing:
    """List the memory of training, and of the KV cache."""
    counts = cost.training
    total = sum(counts.values()) or 1
    several = cost.plan.layers > 1
    names = {key: say(f"memory.{key}") for key in counts}
    if several:
        names["kept"] = say("memory.kept.layers", n=cost.plan.layers)
    rows: list[tuple[Entry, ...]] = [
        (names[key], grouped(n), size(n), Bar(n / total)) for key, n in counts.items()
    ]
    rows.append((say("memory.training"), grouped(total), size(total), ""))
    if cost.cache_bytes:
        cache = say("memory.cache.layers", n=cost.plan.layers) if several else say("memory.cache")
        rows.append((cache, grouped(cost.cache_bytes), size(cost.cache_bytes), ""))
    return listing(("what", "bytes", "size", "share"), rows, [len(counts)])


def _types(cost: Cost) -> dict[str, str]:
    """Name the types of gradients and moments."""
    bits = cost.other_bits
    copy = say("training.copy") if bits == 16 else ""
    return {"bits": str(bits), "wide": str(max(bits, 32)), "copy": copy}


def lora(cost: Cost) -> Iterator[Piece]:
    """Describe what LoRA adds, and which matrices are frozen."""
    rank = cost.plan.lora
    yield Heading(say("heading.lora"), prose=say("prose.lora", rank=rank))
    once = [p.ref.name for p in _once(cost) if p.kind == "matrix"]
    rows: list[tuple[Entry, ...]] = []
    for a in cost.adapters:
        if a.name in once:
            pair = f"{dims((a.shape[0], rank))} + {dims((rank, a.shape[1]))}"
            share = _percent(a.count, prod(a.shape))
            rows.append((a.name, pair, grouped(a.count), share))
    yield listing(("name", "shape", "added", "of_matrix"), rows, [])
    yield from _alike(cost)
    added = cost.adapter_parameters
    names = {a.name for a in cost.adapters}
    left = [name for name in once if name not in names]
    every = cost.parameters_of_all + added
    words = {"added": grouped(added), "share": _percent(added, every), "all": grouped(every)}
    frozen = say("lora.untouched", names=listed(left) or say("lora.none"))
    yield Remark(clauses([say("lora.trained", **words), frozen]) + say("words.stop"))


def _percent(part: int, whole: int) -> str:
    return f"{significant(100 * part / whole, 3)} %"
