"""The public API: read, compute, differentiate, count and compare blocks, and judge answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from blockcalc.docs.samples import by_name, file_of
from blockcalc.errors import Fault, UsageError
from blockcalc.files.decode import read_text
from blockcalc.messages import say
from blockcalc.messages.words import did_you_mean, require_flag, require_word
from blockcalc.nn.orders import ORDERS, compared
from blockcalc.nn.run import run as run_spec
from blockcalc.nn.spec import Spec as PlainSpec
from blockcalc.notebook.shown import as_kind
from blockcalc.notebook.spec import Spec
from blockcalc.notebook.trace import Trace
from blockcalc.program.trace import Trace as PlainTrace
from blockcalc.reading import load as reader
from blockcalc.reading.checker import Checker

if TYPE_CHECKING:
    from blockcalc.answers.answer import Answers
    from blockcalc.notebook.checked import Checked
    from blockcalc.notebook.comparison import Comparison
    from blockcalc.notebook.cost import Cost

Given = Mapping[str, Any] | str | os.PathLike[str]  # of answers
Source = PlainSpec | Given  # of a block


def load(
    source: Source,
    sets: Sequence[tuple[str, Any]] | Mapping[str, Any] = (),
    *,
    order: str | None = None,
) -> Spec:
    """Read a YAML or JSON file, or the same content as a dict.

    Parameters
    ----------
    source : path, mapping or Spec
        ``-`` is standard input, ``@tiny`` a sample; a mapping may hold NumPy arrays; a Spec is
        returned as it is, except for ``order``.
    sets : mapping or sequence of (key, value)
        Keys that override a file or a mapping: ``{"attn.causal": True}``. A text is read as YAML:
        ``"true"``.
    order : str, optional
        A key of ``ORDERS``, such as ``post``; overrides the file.

    Returns
    -------
    Spec
        Its ``arrays`` are the matrices by name, in float64 and read-only: ``x`` is
        ``[tokens, d_model]``, or ``[batch, tokens, d_model]``.

    Raises
    ------
    InputError
        All errors found, up to twenty, each with file, line and column.
    UsageError
        An argument has the wrong type, the order is unknown, or ``sets`` are given for a Spec.

    Examples
    --------
    >>> spec = load({"x": [[1, "1/3"]], "attn": {"out": [[0, 1]]}})
    >>> spec.arrays["x"]
    array([[1.        , 0.33333333]])
    """
    pairs = _overrides(sets)
    if order is not None:
        require_word("order", order, ORDERS)
    if isinstance(source, PlainSpec):
        if pairs:
            raise UsageError(Fault(say("api.sets_spec")))
        return as_kind(Spec, source if order is None else source.with_order(order))
    orders = [] if order is None else [order]
    return as_kind(Spec, reader.load(_place_of(source), pairs, orders, typed=False))


def _place_of(source: Any) -> Mapping[str, Any] | str:
    """Give the mapping, or the name of the file, that a source stands for."""
    if isinstance(source, PlainTrace):
        raise UsageError(Fault(say("api.trace")))
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str | os.PathLike):
        raise UsageError(Fault(say("api.source", what=type(source).__name__)))
    name = os.fsdecode(source)
    if not name:
        raise UsageError(Fault(say("api.no_name")))
    return file_of(name) if isinstance(source, str) else name


def _overrides(sets: Any) -> list[tuple[str, Any]]:
    pairs = list(sets.items()) if isinstance(sets, Mapping) else sets
    whole = isinstance(pairs, list | tuple) and all(isinstance(p, list | tuple) for p in pairs)
    if not whole or not all(len(p) == 2 and isinstance(p[0], str) for p in pairs):
        raise UsageError(Fault(say("api.sets")))
    return [(key, value) for key, value in pairs]


def loads(text: str) -> Spec:
    r"""Read the text of a YAML or JSON file.

    Parameters
    ----------
    text : str
        The text; file names in it are relative to the current folder.

    Returns
    -------
    Spec

    Raises
    ------
    InputError
        All errors found, as by ``load``.
    UsageError
        It is not a text.

    Examples
    --------
    >>> loads("x: [[1, 2]]\nattn: {out: [[0, 1]]}").shapes["x"]
    (1, 2)
    """
    if not isinstance(text, str):
        raise UsageError(Fault(say("api.text", what=type(text).__name__)))
    return as_kind(Spec, reader.check(Checker(read_text(text, "<text>"), False)))


def sample(name: str = "tiny") -> Spec:
    """Read a sample that comes with the package.

    Parameters
    ----------
    name : str
        Its name without ``@``, as listed by ``blockcalc samples``.

    Returns
    -------
    Spec

    Raises
    ------
    UsageError
        There is no sample of this name.

    Examples
    --------
    >>> sample("tiny").shapes["x"]
    (3, 2)
    """
    known = by_name()
    require_word("sample", name, known)
    return as_kind(Spec, reader.load(known[name]))


def run(source: Source, dtype: DTypeLike = "float64") -> Trace:
    """Compute the forward pass of a block.

    Parameters
    ----------
    source : path, mapping or Spec
    dtype : dtype
        ``float64`` or ``float32``: the dtype of every step.

    Returns
    -------
    Trace
        Every step by name, in order; its arrays are read-only.

    Raises
    ------
    InputError
        The source has errors, or a step cannot be computed, such as a sum that overflows.
    UsageError
        The dtype is another one, or the source has the wrong type.

    Examples
    --------
    >>> run(sample("tiny"))["attn.scores"]
    array([[1., 0., 1.],
           [1., 1., 2.],
           [2., 1., 3.]])
    """
    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError, SyntaxError):  # NumPy parses a text with commas as Python
        raise UsageError(Fault(say("run.dtype", dtype=dtype))) from None
    spec = load(source)
    return _owned(run_spec(spec, name), spec)


def _owned(trace: PlainTrace, spec: Spec) -> Trace:
    """Attach the spec to a run."""
    return Trace(trace.program, trace.arrays, trace.rounding, spec=spec)


def grad(source: Source, loss: str | None = None, *, chain: bool = False) -> Trace:
    """Compute the forward and the backward pass of a block.

    Parameters
    ----------
    source : path, mapping or Spec
    loss : str, optional
        The kind of the loss, such as ``mse``; by default that of the file.
    chain : bool
        Whether softmax and norms are differentiated step by step instead of by their closed forms.

    Returns
    -------
    Trace
        All steps, ``loss`` (shape ``(1,)``), and the gradients of the loss: ``grad.x``,
        ``grad.attn.w_q``, ..., each with the shape of its step or matrix.

    Raises
    ------
    InputError
        The source has errors, or a step cannot be computed.
    UsageError
        The loss is unknown, or needs a matrix that the source does not give.

    Examples
    --------
    >>> source = {"x": [[1.0, 2.0, 4.0]], "attn": {"out": [[1, 1, 1]]}, "stop": "residual1"}
    >>> grad(source, "sum")["grad.x"]
    array([[1., 1., 1.]])
    """
    from blockcalc.gradients.run import work_gradients

    require_flag("chain", chain)
    spec = load(source)
    return _owned(work_gradients(spec, loss, chain), spec)


def cost(source: Source | None = None, *, preset: str | None = None, **sizes: Any) -> Cost:
    """Count parameters, operations and bytes from shapes alone.

    Parameters
    ----------
    source : path, mapping or Spec, optional
    preset : str, optional
        A published model, such as ``gpt2``, instead of a source.
    **sizes
        ``d_model``, ``d_ff``, ``heads``, ``tokens``, …, instead of a source, or to override those
        of a preset.

    Returns
    -------
    Cost
        ``parameters_of_all``, ``flops_of()`` (operations; a multiplication and an addition are
        two), ``cache_bytes``, ``training`` (bytes), …

    Raises
    ------
    InputError
        The source has errors.
    UsageError
        A preset or a size is unknown or wrong, or there is a source as well.

    Examples
    --------
    >>> cost(d_model=512, d_ff=2048, heads=8).parameters_of()
    3152384
    """
    from blockcalc.costs.plan import Sizes, of_file
    from blockcalc.costs.presets import published
    from blockcalc.notebook.cost import Cost

    if source is not None:
        if preset is not None or sizes:
            raise UsageError(Fault(say("api.cost")))
        return Cost(of_file(load(source)))
    known = list(Sizes.__dataclass_fields__)
    unknown = [name for name in sizes if name not in known]
    if unknown:
        text = say("api.sizes", known=", ".join(known), names=", ".join(unknown))
        raise UsageError(Fault(text, hint=did_you_mean(unknown[0], known)))
    plan = Sizes(**sizes).plan() if preset is None else published(preset).plan(**sizes)
    return Cost(plan)


def judge(
    source: Source,
    answers: Given | None = None,
    *,
    dtype: str | None = None,
    tolerance: float | None = None,
    names: Mapping[str, str] | None = None,
    layer: int | None = None,
) -> Checked:
    """Judge numbers for the steps of a block: which is wrong first, and why.

    Parameters
    ----------
    source : path, mapping or Spec
    answers : path or mapping, optional
        A file, or numbers by the name of a step: an array is judged as a program stored it, by the
        bound of its dtype; rows of plain numbers as written by hand, to half a unit of the last
        digit, None for an entry left open. By default those under ``expect`` in the source.
    dtype : str, optional
        The storage format of the numbers, ``float64``, ``float32``, ``bfloat16`` or ``float16``;
        overrides that of the answers.
    tolerance : float, optional
        The largest absolute difference from the right number, instead of either rule.
    names : mapping, optional
        From names in the answers to names of steps.
    layer : int, optional
        The layer of the answers, counted from 0, that the block is.

    Returns
    -------
    Checked
        ``ok``, ``first_wrong``, ``reasons``, ``steps`` by name, ``frames``, ``unreadable``.

    Raises
    ------
    InputError
        The source or the answers cannot be read.
    UsageError
        An argument has the wrong type, or there are no answers.

    Examples
    --------
    >>> found = judge(sample("tiny"), {"attn.scores": [[1, 0, 1], [1, 1, 2], [2, 1, 2]]})
    >>> found.ok, found.first_wrong, int(found.steps["attn.scores"].bad.sum())
    (False, 'attn.scores', 1)
    """
    from blockcalc.check.asked import layer_of, require_names, tolerance_of
    from blockcalc.check.run import catalogue, check, wants_gradients
    from blockcalc.notebook.checked import Checked

    spec = load(source)
    require_names(names)
    room, layer = tolerance_of(tolerance), layer_of(layer)
    read = _answers(spec, answers, dtype)
    trace = grad(spec) if wants_gradients([read], names, spec.points) else run(spec)
    return as_kind(Checked, check(trace, read, catalogue(spec, trace), room, names, layer))


def _answers(spec: Spec, answers: Given | None, dtype: str | None) -> Answers:
    """Read answers from a file, a mapping, or ``expect`` of the source."""
    from blockcalc.answers.read import answers_from, answers_of, read_answers, stored_as

    if answers is None:
        if not spec.expect:
            raise UsageError(Fault(say("api.no_answers")))
        read = answers_of(spec)
    elif isinstance(answers, Mapping):
        read = answers_from(answers)
    elif isinstance(answers, str | os.PathLike):
        read = read_answers(os.fspath(answers))
    else:
        raise UsageError(Fault(say("api.answers", what=type(answers).__name__)))
    return stored_as(read, dtype)


def compare(a: Source, b: Source | None = None) -> Comparison:
    """Compute two blocks, or one in two orders, and pair their steps.

    Parameters
    ----------
    a, b : path, mapping or Spec
        Without ``b``, ``a`` is computed in two orders: post-norm and its own, or post-norm and
        pre-norm if its own is post-norm.

    Returns
    -------
    Comparison
        ``a`` and ``b``, the two traces; ``pairs`` of steps, each with the largest absolute
        difference; ``first``, the name of the first step that differs.

    Raises
    ------
    InputError
        A source has errors, or a step cannot be computed.
    UsageError
        A source has the wrong type.

    Examples
    --------
    >>> compare(sample("tiny")).first
    'attn.q'
    """
    from blockcalc.notebook.comparison import compared as paired

    one = load(a)
    if b is None:
        first, second = (run(one.with_order(order)) for order in compared(one.order))
    else:
        first, second = run(one), run(b)
    return paired(first, second)
