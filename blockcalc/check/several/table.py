"""One line for each of several answers: the result, the first wrong step, why, and the score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from blockcalc.check.data import columns, not_handed_in, unread_text
from blockcalc.check.reasons.sentences import reasons_text
from blockcalc.check.run import EMPTY, JUDGED, OPEN, UNTOLD, Checked
from blockcalc.check.several.points import Points, shown
from blockcalc.check.where import untold_text
from blockcalc.explain.document import Entry, Listing, Piece, Remark, Right, Wrong
from blockcalc.messages import say
from blockcalc.messages.words import listed, say_count

LONGEST_HINT = 60  # signs; a list of all steps is longer


def class_pieces(all_checked: Sequence[Checked], points: Points | None) -> Iterator[Piece]:
    """State the result of several sets of answers, one line each; with ``points``, the scores."""
    rows: list[tuple[Entry, ...]] = []
    for checked in all_checked:
        first = checked.judgement.first_wrong
        row: list[Entry] = [checked.answers.source, _sum(checked), first or ""]
        if points is not None:
            reached, of = checked.score(points.of)
            row.append(f"{shown(reached)}/{shown(of)}")
        rows.append((*row, "; ".join(_reasons(checked, points))))
    score = ("score",) if points is not None else ()
    yield Listing(columns("name", "verdict", "first", *score, "reason"), tuple(rows))
    if points is not None:
        yield Remark(points.rule())


def _reasons(checked: Checked, points: Points | None) -> Iterator[str]:
    """Give the reasons of the first wrong step, and what could not be read or is missing."""
    if first := checked.judgement.first_wrong:
        yield reasons_text(checked, first)
    for one in checked.unreadable:
        yield unread_text("check.lost", one, LONGEST_HINT)
    for step in checked.judgement.untold:
        yield f"{step}: {untold_text(checked.judgement, step)}"
    if points is None or checked.state != JUDGED:
        return  # where nothing was judged nothing is handed in, which is said beside the name
    if missing := not_handed_in(checked, points.of):
        yield say("points.missing", names=listed(missing))


def _sum(checked: Checked) -> Entry:
    """Say in a few words how all the steps came out."""
    n, of = len(checked.wrong), len(checked.steps)
    if checked.state in (OPEN, EMPTY):
        return say(f"check.sum.{checked.state}")
    if checked.state == UNTOLD:
        return Wrong(say("check.sum.untold"))
    if checked.state != JUDGED:
        return Wrong(say("check.sum.none" if checked.unreadable else "check.sum.unknown"))
    if n:
        return Wrong(say_count("check.sum.wrong", of, wrong=n))
    if not checked.ok:
        return Wrong(say("check.sum.unread" if checked.unreadable else "check.sum.part"))
    if checked.blind:
        return say("check.sum.blind", n=len(checked.blind), of=of)
    return Right(say_count("check.sum.right", of))


def class_rows(all_checked: Sequence[Checked], points: Points) -> list[dict[str, Any]]:
    """Give one row for each of several answers: first wrong step, reasons, score, errors."""
    rows = []
    for checked in all_checked:
        first = checked.judgement.first_wrong
        names = [n for r in checked.reasons if r.step == first for n in r.names]
        reached, possible = checked.score(points.of)
        rows.append(
            {
                "answers": checked.answers.source,
                "ok": checked.ok,
                "judged": len(checked.steps),
                "wrong": len(checked.wrong),
                "first_wrong": first or "",
                "reasons": " ".join(dict.fromkeys(names)),
                "points": reached,
                "of": possible,
                "not_handed_in": " ".join(not_handed_in(checked, points.of)),
                "unreadable": "; ".join(
                    unread_text("check.lost", one, LONGEST_HINT) for one in checked.unreadable
                ),
            }
        )
    return rows
