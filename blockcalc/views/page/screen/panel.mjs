// @ts-check
/** The panel of the chosen cell: its arithmetic, or a field for a given number or an answer. */

import { figureText } from "../compute/digits.mjs";
import { LATEX, TEXT, written } from "../compute/lines.mjs";
import { indexOf } from "../compute/patterns.mjs";
import { button, element } from "./tables.mjs";

/** @typedef {import("../compute/model.mjs").Place} Place */

/**
 * Name a cell in each way in which it may be copied.
 * @param {import("../compute/model.mjs").Model} model
 * @param {Place} place
 */
function names(model, { name, at }) {
  const { symbol, latex, shape } = /** @type {import("../compute/model.mjs").Matrix} */ (model.matrices.get(name));
  const index = indexOf(shape, at);
  const where = index.map((i) => i + 1).join(",");
  return {
    text: `${symbol}[${where}]`,
    latex: latex.includes("_") ? `${latex}[${where}]` : `${latex}_{${where}}`,
    python: `trace[${JSON.stringify(name)}][${index.join(", ")}]`,
  };
}

/**
 * Write the line of a cell: as text, as LaTeX, and where Python has it.
 * @param {import("../compute/model.mjs").Model} model
 * @param {Place} place
 * @returns {{text: string, latex: string, python: string}}
 */
export function lineOf(model, place) {
  const { texts } = model.data;
  const own = names(model, place);
  const figure = model.figure(place.name, place.at);
  const step = model.byName.get(place.name);
  const plain = { text: `${own.text} = ${figureText(figure)}`, latex: `${own.latex} = ${LATEX.figure(figure)}`, python: own.python };
  if (!step || !step.cells) return plain;
  const words = model.wordsOf(step, place.at);
  if (words) return { ...plain, text: `${plain.text}  (${words})` };
  const { middle, relation, equals } = model.worked(step, place.at);
  if (!middle) return { ...plain, text: `${plain.text}  (${texts.no_digits})` };
  const tex = (/** @type {string} */ sign) => (sign === "≈" ? "\\approx" : "=");
  return {
    text: `${own.text} ${relation} ${written(TEXT, middle)} ${equals} ${figureText(figure)}`,
    latex: `${own.latex} ${tex(relation)} ${written(LATEX, middle)} ${tex(equals)} ${LATEX.figure(figure)}`,
    python: own.python,
  };
}

/** Shows the chosen cell. */
export class Panel {
  /**
   * @param {import("../compute/model.mjs").Model} model
   * @param {import("../marks/marking.mjs").Answers} answers
   */
  constructor(model, answers) {
    this.model = model;
    this.answers = answers;
    this.box = /** @type {HTMLElement} */ (document.getElementById("cell"));
  }

  /**
   * Show a cell, or a hint if there is none.
   * @param {Place | null} place
   * @param {boolean} hidden whether its number is to be found
   */
  show(place, hidden) {
    const { model, box } = this;
    const { texts } = model.data;
    const body = element("div", { class: "body" });
    if (!place) {
      body.append(element("p", { class: "hint" }, texts.hint));
      box.replaceChildren(body);
      return;
    }
    const title = element("h2", {}, `${names(model, place).text} `, element("code", {}, place.name));
    const head = element("div", { class: "top" }, title, button("×", { id: "close", "aria-label": texts.close, title: texts.close }));
    body.append(head);
    if (!model.byName.has(place.name)) body.append(this.given(place), this.links(place), this.copies(place));
    else if (hidden) body.append(...this.guess(place));
    else body.append(element("p", { class: "line" }, lineOf(model, place).text), this.links(place), this.copies(place));
    box.replaceChildren(body);
  }

  /** Give the number of the file, as text. @param {Place} place */
  file({ name, at }) {
    return String(this.model.data.given[name].values[at]).replace("Infinity", "inf");
  }

  /** @param {Place} place */
  given(place) {
    const { edits, data } = this.model;
    const file = this.file(place);
    const now = edits.get(place.name)?.get(place.at);
    const field = this.field(data.texts.given, now ?? file, now === undefined ? "" : ` ${data.texts.was.replace("{file}", file)} `);
    if (now !== undefined) field.append(button(data.texts.undo, { id: "take-back" }));
    return field;
  }

  /** @param {Place} place */
  guess(place) {
    const { texts } = this.model.data;
    const verdict = this.answers.judge(place);
    const { right, n } = this.answers.score();
    const score = texts.score.replace("{right}", String(right)).replace("{n}", String(n));
    const said = verdict && element("p", { class: `verdict ${verdict}`, role: "status" }, texts[verdict]);
    return [
      this.field(texts["guess.field"], this.answers.get(place) ?? "", ""),
      element("p", { class: "note" }, texts["guess.hint"]),
      ...(said ? [said] : []),
      ...(n ? [element("p", { class: "score" }, score)] : []),
    ];
  }

  /** @param {string} label @param {string} value @param {string} after */
  field(label, value, after) {
    const input = element("input", { id: "typed", value, inputmode: "text", autocomplete: "off", spellcheck: "false" });
    const own = element("label", { for: "typed" }, label);
    return element("p", { class: "typing" }, own, " ", input, element("output", { for: "typed" }), element("span", { class: "note" }, after));
  }

  /** Say that what was typed is no number. */
  refuse() {
    const said = this.box.querySelector(".typing output");
    if (said) said.textContent = ` ${this.model.data.texts.number}`;
    this.box.querySelector("#typed")?.setAttribute("aria-invalid", "true");
  }

  /** Give the line of the chosen cell of a step, else of its first, for paper. @param {string} name @param {Place | null} chosen */
  printed(name, chosen) {
    const step = this.model.byName.get(name);
    if (!step?.worked || !step.cells) return "";
    return lineOf(this.model, { name, at: chosen?.name === name ? chosen.at : 0 }).text;
  }

  /** Name the matrices that a cell is computed from, and those that use it. @param {Place} place */
  links(place) {
    const { model } = this;
    const { texts } = model.data;
    const row = element("p", { class: "links" });
    for (const [text, found] of /** @type {[string, Place[]][]} */ ([
      [texts.from, model.sources(place)],
      [texts.feeds, model.uses(place)],
    ])) {
      const own = [...new Set(found.map((e) => e.name))];
      if (own.length) row.append(element("span", { class: "word" }, text), " ");
      for (const one of own) row.append(button(one, { "data-go": one }), " ");
    }
    return row;
  }

  /** @param {Place} place */
  copies(place) {
    const { texts } = this.model.data;
    const row = element("p", { class: "copies" }, element("span", { class: "word" }, texts.copy), " ");
    for (const [key, text] of Object.entries(lineOf(this.model, place))) {
      row.append(button(texts[`copy.${key}`], { "data-copy": text }), " ");
    }
    row.append(element("output", {}));
    return row;
  }
}
