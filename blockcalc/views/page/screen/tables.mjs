// @ts-check
/** Matrices as tables whose cells can be chosen. */

import { figureText } from "../compute/digits.mjs";
import { indexOf, shownOf } from "../compute/patterns.mjs";

/** @typedef {import("../compute/model.mjs").Model} Model */
/** @typedef {import("../compute/model.mjs").Matrix} Matrix */

const BAND = 64; // rows of a large matrix in one table, which a browser lays out at once
const SHADES = 8;

/**
 * Make an element.
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

/**
 * Make a button.
 * @param {string} text
 * @param {Record<string, string>} [attributes]
 */
export function button(text, attributes = {}) {
  return element("button", { type: "button", ...attributes }, text);
}

/** The layout of a matrix: how many tables, of how many rows and columns, and along which axes. */
class Layout {
  /** @param {Model} model @param {Matrix} matrix */
  constructor(model, matrix) {
    const { shape, axes, upright } = matrix;
    const vector = shape.length === 1;
    const [height, width] = vector ? (upright ? [shape[0], 1] : [1, shape[0]]) : shape.slice(-2);
    const [rowAxis, columnAxis] = vector ? (upright ? [axes[0], ""] : ["", axes[0]]) : axes.slice(-2);
    this.height = height;
    this.width = width;
    this.rowAxis = rowAxis;
    this.columnAxis = columnAxis;
    this.lead = shape.slice(0, -2);
    this.count = this.lead.reduce((a, b) => a * b, 1);
    this.model = model;
    this.matrix = matrix;
  }

  /** Whether it is too large to be shown whole at once. */
  get large() {
    return shownOf(this.height).length < this.height || shownOf(this.width).length < this.width;
  }

  /** Give the labels of an axis. @param {string} axis @param {number} n @param {number[]} lead */
  labels(axis, n, lead) {
    if (!axis) return [""];
    const { tokens } = this.model.data;
    const own = tokens[this.matrix.axes[0] === "batch" ? lead[0] ?? 0 : 0] ?? tokens[0];
    if (["token", "query", "key"].includes(axis) && own.length === n) return own;
    return [...Array(n).keys()].map((i) => String(i + 1));
  }
}

/**
 * Make the tables of a matrix, one for each head and sequence, in parts.
 * @param {Model} model
 * @param {Matrix} matrix
 * @param {boolean} whole
 * @param {HTMLElement} into
 * @param {(cell: HTMLElement) => void} made takes each cell
 * @returns {Generator<void, void>}
 */
export function* tables(model, matrix, whole, into, made) {
  const layout = new Layout(model, matrix);
  for (let index = 0; index < layout.count; index += 1) {
    const lead = indexOf(layout.lead, index);
    const box = element("div", { class: "matrix" });
    into.append(box);
    const rows = whole ? [...Array(layout.height).keys()] : shownOf(layout.height);
    const bands = whole ? Math.ceil(rows.length / BAND) : 1;
    for (let band = 0; band < bands; band += 1) {
      const own = bands > 1 ? rows.slice(band * BAND, (band + 1) * BAND) : rows;
      const caption = lead.map((k, i) => said(model, matrix.axes[i], k)).join(", ");
      const name = [matrix.name, caption, bands > 1 ? `${own[0] + 1}–${own[own.length - 1] + 1}` : ""];
      const table = element("table", { role: "grid", "aria-label": name.filter(Boolean).join(", ") });
      if (caption && !band) table.append(element("caption", {}, caption));
      const columns = whole ? [...Array(layout.width).keys()] : shownOf(layout.width);
      if (layout.columnAxis) table.append(heads(layout, columns, lead));
      const body = element("tbody");
      table.append(body);
      box.append(bands > 1 ? element("div", { class: "band" }, table) : table);
      for (const [n, i] of own.entries()) {
        if (n && own[n - 1] !== i - 1) body.append(gap(model, columns.length + 2));
        body.append(line(layout, index, i, columns, lead, made));
        if (whole && layout.large) yield;
      }
    }
    if (!whole && layout.large) {
      const text = model.data.texts.whole.replace("{n}", String(layout.height * layout.width));
      box.append(button(text, { class: "whole", "data-name": matrix.name }));
    }
  }
}

/** @param {Model} model @param {string} axis @param {number} k */
const said = (model, axis, k) =>
  model.data.texts.lead.replace("{axis}", model.data.axes[axis] ?? axis).replace("{n}", String(k + 1));

/** @param {Model} model @param {number} span */
function gap(model, span) {
  const text = model.data.texts.gap;
  return element("tr", { class: "gap" }, element("td", { colspan: String(span) }, text));
}

/** @param {Layout} layout @param {number[]} columns @param {number[]} lead */
function heads(layout, columns, lead) {
  const labels = layout.labels(layout.columnAxis, layout.width, lead);
  const row = element("tr", {}, element("td"));
  columns.forEach((j, k) => {
    if (k && columns[k - 1] !== j - 1) row.append(element("td", { class: "gap" }, "…"));
    row.append(element("th", { scope: "col" }, labels[j]));
  });
  return element("thead", {}, row);
}

/**
 * @param {Layout} layout
 * @param {number} index
 * @param {number} i
 * @param {number[]} columns
 * @param {number[]} lead
 * @param {(cell: HTMLElement) => void} made
 */
function line(layout, index, i, columns, lead, made) {
  const labels = layout.labels(layout.rowAxis, layout.height, lead);
  const head = layout.rowAxis ? element("th", { scope: "row" }, labels[i]) : element("td");
  const row = element("tr", {}, head);
  columns.forEach((j, k) => {
    if (k && columns[k - 1] !== j - 1) row.append(element("td", { class: "gap" }, "…"));
    const flat = (index * layout.height + i) * layout.width + j;
    const cell = document.createElement("td");
    cell.className = "cell";
    cell.tabIndex = -1;
    cell.dataset.name = layout.matrix.name;
    cell.dataset.at = String(flat);
    made(cell);
    row.append(cell);
  });
  return row;
}

/**
 * What a cell shows.
 * @typedef {{instead: string | null, shaded: boolean, verdict: string}} Look
 * The largest number of a matrix, and where its shades end.
 * @typedef {{top: number, limit: number}} Scale
 */

/**
 * Write the number of a cell, shade it and mark it.
 * @param {Model} model
 * @param {HTMLElement} cell
 * @param {import("../compute/model.mjs").Place} place
 * @param {Look} look
 * @param {Scale} scale
 */
export function paint(model, cell, { name, at }, { instead, shaded, verdict }, { top, limit }) {
  const x = model.values[name][at];
  const text = instead ?? figureText(model.figure(name, at));
  if (cell.textContent !== text) cell.textContent = text;
  const bare = instead !== null;
  const finite = Number.isFinite(x);
  // round-off, which is shown as 0, has no shade
  const part = shaded && !bare && finite && limit && text !== "0" ? Math.abs(x) / limit : 0;
  const level = Math.ceil(SHADES * Math.min(part, 1));
  const before = model.original[name];
  const changed = !bare && before !== undefined && at < before.length && !same(before[at], x, top);
  const own = ["cell", bare && "hidden", !bare && !finite && "infinite", changed && "changed",
    level && `shade ${x < 0 ? "minus" : "plus"}${level}`, part > 1 && "clipped", verdict];
  const marks = ["from", "feeds", "chosen"].filter((mark) => cell.classList.contains(mark));
  const classes = [...own, ...marks].filter(Boolean).join(" ");
  if (cell.className !== classes) cell.className = classes;
}

/** @param {number} a @param {number} b @param {number} size of the matrix */
const same = (a, b, size) => a === b || Math.abs(a - b) <= 1e-13 * size || (Number.isNaN(a) && Number.isNaN(b));
