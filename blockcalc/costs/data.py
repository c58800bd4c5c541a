"""Shapes and costs as plain data: every count as a whole number."""

from __future__ import annotations

from typing import Any

from blockcalc.costs.closed_form import Form, form_text, plus
from blockcalc.costs.count import GROUPS, Cost, counted
from blockcalc.costs.growth import doubled, grown, overtaken
from blockcalc.costs.plan import Plan

VERSION = 1


def _form(form: Form | None) -> str | None:
    return form_text(form) if form else None


def shapes_data(plan: Plan) -> dict[str, Any]:
    """Give the shapes as plain data: ``matrices``, each with axes, letters, shape and rule."""
    cost = counted(plan)
    program = cost.program
    given = {ref.name: (ref, "given") for ref in program.inputs}
    computed = {eq.out.name: (eq.out, eq.op.rule(eq.inputs)) for eq in program.equations}
    matrices = {
        name: {
            "axes": list(ref.axes),
            "letters": [_form(form) for form in cost.forms.each(ref.axes, ref.shape)],
            "shape": list(ref.shape),
            "rule": rule,
        }
        for name, (ref, rule) in {**given, **computed}.items()
    }
    return {"format": "blockcalc shapes", **_head(cost), "matrices": matrices}


def _head(cost: Cost) -> dict[str, Any]:
    plan = cost.plan
    return {
        "version": VERSION,
        "title": plan.title or None,
        "source": plan.source or None,
        "order": plan.spec.order,
        "layers": plan.layers,
        "letters": cost.forms.sizes,
    }


def cost_data(plan: Plan, double: str | None = None) -> dict[str, Any]:
    """Give the costs of a plan as plain data.

    Keys: ``format``, ``version``, ``title``, ``source``, ``order``, ``layers``, ``letters``,
    ``dtype``, ``parameters`` (``by_name``, ``outside``, ``block``, ``model``), ``operations``
    (``steps``, ``groups``, ``products``, ``attention_overtakes_ffn`` as a number of tokens,
    ``block``), ``bytes`` (``steps`` written, ``kept`` for the backward pass by name, ``scores``,
    ``cache``, ``training``) and ``lora``. Counts of a block cover all blocks in the program;
    ``cache`` and ``training`` cover all layers. With ``double``, ``growth`` has the counts at 1, 2
    and 4 times.
    """
    cost = counted(plan)
    larger = {}
    if double:
        larger = {"axis": double, **dict(grown([cost, *doubled(cost, double)]))}
    return {
        "format": "blockcalc cost",
        **_head(cost),
        "dtype": plan.dtype,
        "parameters": _parameters(cost),
        "operations": _operations(cost),
        "bytes": {
            "steps": {s.eq.out.name: s.written for s in cost.steps},
            "kept": {k.ref.name: k.bytes for k in cost.kept},
            "scores": cost.score_bytes,
            "cache": cost.cache_bytes,
            "training": cost.training,
        },
        "lora": {a.name: {"rank": a.rank, "count": a.count} for a in cost.adapters},
        "growth": larger,
    }


def _parameters(cost: Cost) -> dict[str, Any]:
    by_name = {
        p.ref.name: {
            "shape": list(p.ref.shape), "part": p.part, "kind": p.kind, "count": p.count, "closed_form": _form(p.form),
        }
        for p in cost.parameters
    }  # fmt: skip
    outside = {
        matrix.name: {"shape": list(matrix.shape), "count": matrix.count, "tied": matrix.tied}
        for matrix in cost.plan.outside
    }
    return {
        "by_name": by_name,
        "outside": outside,
        "block": cost.parameters_of(),
        "model": cost.parameters_of_all,
    }


def _operations(cost: Cost) -> dict[str, Any]:
    steps = {
        s.eq.out.name: {
            "group": s.group, "count": s.flops, "closed_form": _form(plus(s.form, s.bias or {})) if s.form else None, "bytes_moved": s.moved,
            "per_byte": s.intensity,
        }
        for s in cost.steps
    }  # fmt: skip
    return {
        "steps": steps,
        "groups": {group: cost.flops_of(group) for group in GROUPS},
        "products": cost.flops_of(products=True),
        "attention_overtakes_ffn": overtaken(cost),
        "block": cost.flops_of(),
    }
