// @ts-check
/** The sections of the page: every step with its formula and the tables of its numbers. */

import { limitOf, topOf } from "../compute/patterns.mjs";
import { button, element, paint, tables } from "./tables.mjs";

/** @typedef {import("../compute/model.mjs").Matrix} Matrix */
/** @typedef {import("../compute/model.mjs").Place} Place */

/** @param {Place} place */
export const keyOf = ({ name, at }) => `${name} ${at}`;

/** @param {HTMLElement} cell @returns {Place} */
export const placeOf = (cell) => ({ name: cell.dataset.name ?? "", at: Number(cell.dataset.at) });

/**
 * Make nodes of HTML that the program has written, with every name escaped.
 * @param {string} text
 */
function html(text) {
  return document.createRange().createContextualFragment(text);
}

export class Sections {
  /**
   * @param {import("../compute/model.mjs").Model} model
   * @param {HTMLElement} main
   */
  constructor(model, main) {
    this.model = model;
    this.main = main;
    /** @type {import("../compute/model.mjs").Variant | null} */
    this.variant = null;
    /** @type {Map<string, HTMLElement>} */
    this.cells = new Map();
    /** @type {Map<string, string>} the formulas of the file, where settings change them */
    this.plain = new Map();
  }

  /** Build the sections of the form in use, with tables whose cells are empty. */
  *build() {
    const { model, main } = this;
    const { variant, data } = model;
    this.cells = new Map();
    this.plain = new Map();
    const given = element("section", { class: "given", id: "given" });
    const parts = [element("div", { class: "heading" }, element("h2", {}, data.texts.given)), given];
    for (const name of variant.given) {
      const matrix = /** @type {Matrix} */ (model.matrices.get(name));
      const title = element("p", {}, html(data.given[name].math), " ", element("code", {}, name));
      const box = element("div", { class: "named" }, title, element("div", { class: "row" }));
      given.append(box);
      yield* this.fill(matrix, box);
    }
    for (const [i, step] of model.steps.entries()) {
      for (const heading of variant.headings.filter((h) => h.at === i)) {
        parts.push(element("div", { class: "heading" }, html(data.html[heading.html])));
      }
      const section = this.section(step, i + 1);
      yield* this.fill(step, section);
      parts.push(section);
    }
    parts.push(element("div", { id: "closing" }, html(data.html[variant.closing])));
    main.replaceChildren(...parts);
    document.getElementById("head")?.replaceChildren(html(data.html[variant.head]));
    this.variant = variant;
    for (const formula of main.querySelectorAll(".formula")) {
      // what scrolls must be reached by keys
      if (formula.scrollWidth > formula.clientWidth) formula.setAttribute("tabindex", "0");
    }
  }

  /** @param {import("../compute/model.mjs").Shown} step @param {number} number */
  section(step, number) {
    const { texts } = this.model.data;
    const own = { class: "step", id: `step-${step.name}`, "data-step": step.name };
    const section = element("section", own, html(step.html));
    const mark = section.querySelector(".number");
    if (mark) mark.textContent = String(number);
    const hide = button(texts["hide.one"], { class: "hide", "data-hide": step.name, "aria-pressed": "false" });
    section.querySelector("h4")?.append(" ", hide);
    section.append(element("p", { class: "line printed" }));
    return section;
  }

  /**
   * Make the tables of a matrix in its section.
   * @param {Matrix} matrix
   * @param {HTMLElement} section
   */
  *fill(matrix, section) {
    const row = /** @type {HTMLElement} */ (section.querySelector(".row"));
    row.replaceChildren();
    yield* tables(this.model, matrix, this.model.wholes.has(matrix.name), row, (cell) => {
      this.cells.set(keyOf(placeOf(cell)), cell);
    });
    for (const table of row.querySelectorAll("table")) {
      const first = /** @type {HTMLElement | null} */ (table.querySelector("td.cell"));
      if (first) first.tabIndex = 0;
    }
  }

  /**
   * Show the whole of a large matrix.
   * @param {string} name
   * @param {HTMLElement} section
   */
  *whole(name, section) {
    const matrix = this.model.matrices.get(name);
    this.model.wholes.add(name);
    this.model.places.clear(); // a column has digits for all rows that are shown
    if (matrix) yield* this.fill(matrix, section);
  }

  /**
   * Write every number, those in sight first.
   * @param {(place: Place) => import("./tables.mjs").Look} look
   * @returns {Generator<void, void>}
   */
  *painting(look) {
    const { model } = this;
    /** @type {Map<string, import("./tables.mjs").Scale>} */
    const scales = new Map();
    const scaleOf = (/** @type {string} */ name) => {
      const values = model.values[name];
      // weights are parts of 1: all of them are on one scale
      const ends = model.byName.get(name)?.weights ? topOf : limitOf;
      const found = scales.get(name) ?? { top: topOf(values), limit: ends(values) };
      scales.set(name, found);
      return found;
    };
    const boxes = [...this.main.querySelectorAll(".matrix")];
    const seen = boxes.filter((box) => {
      const { top: above, bottom } = box.getBoundingClientRect();
      return bottom > 0 && above < innerHeight;
    });
    for (const box of new Set([...seen, ...boxes])) {
      const cells = /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("td.cell"));
      /** @type {Place[]} */
      const places = [];
      for (const cell of cells) {
        const place = placeOf(cell);
        places.push(place);
        model.noise.of(place.name, place.at); // in parts: the digits of a column ask for that of all its rows
        yield;
      }
      for (const [i, place] of places.entries()) {
        paint(model, cells[i], place, look(place), scaleOf(place.name));
        yield;
      }
    }
  }

  /**
   * Write the arithmetic of a cell of each step, for paper.
   * @param {(name: string) => string} line gives it, or nothing
   */
  lines(line) {
    for (const step of this.model.steps) {
      const box = document.getElementById(`step-${step.name}`)?.querySelector(".line");
      if (box) box.textContent = line(step.name);
    }
  }

  /** Write the formulas that settings change. */
  formulas() {
    for (const step of this.model.steps) {
      const box = step.others && document.getElementById(`step-${step.name}`)?.querySelector(".formula");
      if (!box) continue;
      if (!this.plain.has(step.name)) this.plain.set(step.name, box.innerHTML);
      box.replaceChildren(html(step.formula ?? this.plain.get(step.name) ?? ""));
    }
  }
}
