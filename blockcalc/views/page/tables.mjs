// @ts-check
/** Matrices as tables whose cells can be chosen. */

import { figureText } from "./digits.mjs";

const MOST_SHOWN = 32;
const KEPT_AT_END = 8;
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
 * Choose which of n rows or columns are shown.
 * @param {number} n
 * @param {boolean} whole
 */
function shownOf(n, whole) {
  const all = [...Array(n).keys()];
  return whole || n <= MOST_SHOWN ? all : [...all.slice(0, KEPT_AT_END), ...all.slice(-KEPT_AT_END)];
}

/**
 * Give the labels of an axis.
 * @param {import("./model.mjs").Data} data
 * @param {string} axis
 * @param {number} n
 * @param {number} batch
 */
function labels(data, axis, n, batch) {
  const tokens = data.tokens[batch] ?? data.tokens[0];
  if (["token", "query", "key"].includes(axis) && tokens.length === n) return tokens;
  return [...Array(n).keys()].map((i) => String(i + 1));
}

/**
 * Make the tables of a matrix: one for each head and sequence.
 * @param {import("./model.mjs").Model} model
 * @param {import("./model.mjs").Matrix} matrix
 * @param {boolean} whole
 * @returns {HTMLElement[]}
 */
export function tables(model, matrix, whole) {
  const { shape, axes } = matrix;
  const [height, width] = shape.length > 1 ? shape.slice(-2) : matrix.upright ? [shape[0], 1] : [1, shape[0]];
  const count = shape.slice(0, -2).reduce((a, b) => a * b, 1);
  return [...Array(count).keys()].map((i) => table(model, matrix, i, height, width, whole, axes));
}

/**
 * @param {import("./model.mjs").Model} model
 * @param {import("./model.mjs").Matrix} matrix
 * @param {number} index
 * @param {number} height
 * @param {number} width
 * @param {boolean} whole
 * @param {string[]} axes
 */
function table(model, matrix, index, height, width, whole, axes) {
  const lead = matrix.shape.slice(0, -2);
  const at = [];
  let rest = index;
  for (let i = lead.length - 1; i >= 0; i -= 1) {
    at.unshift(rest % lead[i]);
    rest = Math.floor(rest / lead[i]);
  }
  const batch = axes[0] === "batch" ? at[0] ?? 0 : 0;
  const vector = matrix.shape.length === 1;
  const [rowAxis, columnAxis] = vector ? (matrix.upright ? [axes[0], ""] : ["", axes[0]]) : axes.slice(-2);
  const rows = shownOf(height, whole);
  const columns = shownOf(width, whole);
  const rowLabels = rowAxis ? labels(model.data, rowAxis, height, batch) : [""];
  const columnLabels = columnAxis ? labels(model.data, columnAxis, width, batch) : [""];
  const caption = [matrix.symbol, ...at.map((k, i) => `${axes[i]} ${k + 1}`)].join(" · ");
  const made = element("table", { role: "grid", "aria-label": `${matrix.name} ${caption}` });
  made.append(element("caption", {}, caption));
  if (columnAxis) {
    const head = element("tr", {}, element("td"));
    columns.forEach((j, k) => {
      if (k && columns[k - 1] !== j - 1) head.append(element("td", {}, "…"));
      head.append(element("th", { scope: "col" }, columnLabels[j]));
    });
    made.append(element("thead", {}, head));
  }
  const body = element("tbody");
  rows.forEach((i, n) => {
    if (n && rows[n - 1] !== i - 1) body.append(element("tr", {}, element("td", {}, "⋮")));
    const row = element("tr", {}, element("th", { scope: "row" }, rowLabels[i]));
    columns.forEach((j, k) => {
      if (k && columns[k - 1] !== j - 1) row.append(element("td", {}, "…"));
      const flat = index * height * width + i * width + j;
      row.append(element("td", { class: "cell", tabindex: "-1", "data-name": matrix.name, "data-at": String(flat) }));
    });
    body.append(row);
  });
  made.append(body);
  const box = element("div", { class: "matrix" }, made);
  if (!whole && (height > MOST_SHOWN || width > MOST_SHOWN)) {
    const text = model.data.texts.whole.replace("{n}", String(height * width));
    box.append(element("button", { type: "button", class: "whole", "data-name": matrix.name }, text));
  }
  return box;
}

/**
 * Write the numbers of cells, and shade them if asked.
 * @param {import("./model.mjs").Model} model
 * @param {Iterable<HTMLElement>} cells
 * @param {(name: string) => boolean} shaded
 * @param {(name: string, at: number) => string | null} hidden what stands in place of a number
 */
export function fill(model, cells, shaded, hidden) {
  /** @type {Map<string, number>} */
  const largest = new Map();
  for (const cell of cells) {
    const name = cell.dataset.name ?? "";
    const at = Number(cell.dataset.at);
    const x = model.values[name][at];
    const instead = hidden(name, at);
    const shown = instead ?? figureText(model.figure(name, at));
    if (cell.textContent !== shown) cell.textContent = shown;
    cell.classList.toggle("hidden", instead !== null);
    cell.classList.toggle("infinite", instead === null && !Number.isFinite(x));
    if (!largest.has(name)) {
      largest.set(name, model.values[name].reduce((a, b) => (Number.isFinite(b) ? Math.max(a, Math.abs(b)) : a), 0));
    }
    const top = largest.get(name) || 1;
    const level = shaded(name) && instead === null && Number.isFinite(x) ? Math.ceil((SHADES * Math.abs(x)) / top) : 0;
    cell.dataset.shade = level ? `${x < 0 ? "minus" : "plus"}${level}` : "";
    const now = model.original[name];
    cell.classList.toggle("changed", instead === null && now !== undefined && now.length > at && !same(now[at], x));
  }
}

/** @param {number} a @param {number} b */
function same(a, b) {
  return a === b || Math.abs(a - b) <= 1e-12 * Math.max(1, Math.abs(a));
}
