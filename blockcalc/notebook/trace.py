"""A run, and its steps, that show themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from blockcalc.messages import say
from blockcalc.notebook.shown import depth_of, in_one_line, printed, steps, tokens
from blockcalc.program import trace as program

if TYPE_CHECKING:
    import pandas as pd

    from blockcalc.explain.depth import Depth
    from blockcalc.explain.steps import Explainer
    from blockcalc.nn.spec import Spec


@dataclass(frozen=True, eq=False, repr=False)
class Trace(program.Trace):
    """All values of a run by name, with the spec that they are of; a notebook shows every step.

    Examples
    --------
    >>> import blockcalc
    >>> blockcalc.run({"title": "a", "x": [[1, 3]], "attn": {"out": [[1, 1]]}, "stop": "residual1"})
    <Trace of 'a': 1 step, post-norm; 1 token, d_model = 2>
    """

    spec: Spec = field(kw_only=True)

    def __repr__(self) -> str:
        """Say in one line what it is: title, steps, order, sizes, and the loss if it has one."""
        from blockcalc.explain.head import sizes
        from blockcalc.notation.quantities import significant

        gradients = self.program.forward is not None
        loss = float(self.arrays["loss"][0]) if gradients else 0.0
        return say(
            "repr.trace",
            title=in_one_line(self.spec.title),
            steps=steps(len(self)),
            order=say(f"word.{self.spec.order}"),
            tokens=tokens(self.arrays["x"].shape),
            sizes=sizes(self.program.start()),
            loss=say("repr.loss", loss=significant(loss, 4)) if gradients else "",
        )

    def _repr_html_(self) -> str:
        """Give the HTML for a notebook."""
        from blockcalc.explain.depth import Depth
        from blockcalc.views.html.page import page

        return page(self.explainer(Depth()).pieces())

    def _ipython_key_completions_(self) -> list[str]:
        """List what may stand in brackets: steps, matrices, aliases, and ends that only one has."""
        names = [*self.program.refs(), *self.program.aliases]
        parts = (name.split(".") for name in names if not name.startswith("grad."))
        ends = Counter(".".join(own[i:]) for own in parts for i in range(1, len(own)))
        return list(dict.fromkeys([*names, *(end for end, n in ends.items() if n == 1)]))

    def explainer(self, depth: Depth) -> Explainer:
        """Make what explains its steps; a backward pass has one of its own."""
        from blockcalc.gradients.explained import explainer_of

        return explainer_of(self)(self.spec, self, depth)

    def steps(self, first: int = 0, last: int | None = None) -> Iterator[Step]:
        """Yield the steps in order, or some of them."""
        for step in super().steps(first, last):
            yield Step(step.index, step.equation, step.inputs, step.value, self)

    def step(self, name: str) -> Step:
        """Give one step by name; ``scores`` finds ``attn.scores``.

        Raises
        ------
        LookupFault
            No step matches, or several do, or it is a given matrix.
        """
        found = self.program.find(name)
        made = {eq.out.name: i for i, eq in enumerate(self.program.equations)}
        if found not in made:
            from blockcalc.errors import Fault, LookupFault

            raise LookupFault(Fault(say("step.given", name=found)))
        return next(self.steps(made[found], made[found] + 1))

    def show(
        self, *patterns: str, detail: str = "normal", digits: int = 4, whole: bool = False
    ) -> None:
        """Print steps with their arithmetic, or the whole run, as the command line does.

        Parameters
        ----------
        *patterns : str
            Names of steps, or patterns such as ``attn.*``; all if empty.
        detail : str
            ``tables``, ``normal`` or ``cells``.
        digits : int
            Significant digits, 1 to 17.
        whole : bool
            Whether long matrices are shown without gaps.
        """
        printed(self.explainer(depth_of(patterns, detail, digits, whole)).pieces())

    def to_frame(self, name: str) -> pd.DataFrame:
        """Give a step or a matrix as a DataFrame of pandas, with its labels.

        Heads and batches are levels of the rows.

        Raises
        ------
        LookupFault
            No step matches, or several do.
        UsageError
            pandas is not installed.
        """
        from blockcalc.notebook.frame import frame

        value = self[name]
        return frame(self.program.refs()[self.program.find(name)], value, self.spec)

    def to_dict(self) -> dict[str, Any]:
        """Give the run as plain data, as ``export --json`` writes it."""
        from blockcalc.explain.data import plain, run_data
        from blockcalc.explain.depth import Depth, Detail

        depth = Depth(Detail.tables, prose=False)
        data: dict[str, Any] = plain(run_data(self.spec, self, self.explainer(depth).pieces()))
        return data


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(program.Step):
    """One equation with its values, and the run that it is of."""

    trace: Trace

    @property
    def name(self) -> str:
        """Its name: ``attn.scores``."""
        return self.equation.out.name

    def __repr__(self) -> str:
        """Say in one line what it is: number, name, formula, shape."""
        from blockcalc.notation.alphabets import Text
        from blockcalc.ops.expr import Name

        out, text = self.equation.out, Text()
        right = self.equation.op.formula([Name(ref.symbol) for ref in self.equation.inputs])
        pairs = zip(out.axes, out.shape, strict=True)
        return say(
            "repr.step",
            n=self.index + 1,
            name=out.name,
            formula=f"{text.symbol(out.symbol)} = {text.render(right)}",
            shape="[" + " × ".join(f"{axis} {n}" for axis, n in pairs) + "]",
        )

    def _repr_html_(self) -> str:
        """Give the HTML for a notebook."""
        from blockcalc.explain.depth import Depth
        from blockcalc.views.html.page import page

        return page([self.trace.explainer(Depth()).step(self)], opened=True)

    def show(self, *, detail: str = "normal", digits: int = 4, whole: bool = False) -> None:
        """Print it with its arithmetic."""
        depth = depth_of((), detail, digits, whole)
        printed([self.trace.explainer(depth).step(self)])
