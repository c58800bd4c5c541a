// @ts-check
/** A block that can be changed: its forms, settings and edited numbers, and all values. */

import { numberOf } from "../marks/answers.mjs";
import { columnPlaces, figure, roundedTo } from "./digits.mjs";
import { untouched, working } from "./evaluate.mjs";
import { users } from "./feeds.mjs";
import { operandFigure, worked } from "./lines.mjs";
import { Noise } from "./noise.mjs";
import { hasNaN, indexOf, isBeyond, shownOf, withNumbers } from "./patterns.mjs";
import { calls, entries, patternOf, treeOf, valueOfTree } from "./trees.mjs";

/**
 * @typedef {object} Matrix
 * @property {string} name
 * @property {string} symbol
 * @property {string} latex the symbol in LaTeX
 * @property {string[]} axes
 * @property {number[]} shape
 * @property {boolean} upright whether a vector is shown as a column
 *
 * @typedef {{cells: import("./evaluate.mjs").Patterns, html: string}} Other a step with another setting
 *
 * @typedef {import("./evaluate.mjs").Step & Matrix & {title: string, html: string, worked: boolean,
 *   weights: boolean, words: Record<string, string>, others?: Record<string, Other>, formula?: string}} Shown
 *
 * @typedef {{order: string, mask: string, shifted: boolean, watched: string[], given: string[], steps: number[],
 *   headings: {name: string, html: number, at: number}[], head: number, closing: number}} Variant
 *
 * @typedef {object} Data
 * @property {number} digits
 * @property {[string, number] | null} rounding
 * @property {number} plainLimit the largest score of a softmax without the maximum subtracted
 * @property {string[][]} tokens
 * @property {Record<string, Matrix & {math: string, values: (number | string)[]}>} given
 * @property {Shown[]} steps
 * @property {string[]} html headings and other texts, by the numbers that stand for them
 * @property {Variant[]} variants
 * @property {Record<string, string>} orders
 * @property {Record<string, string>} masks
 * @property {Record<string, string>} activations
 * @property {Record<string, string>} texts
 * @property {Record<string, string>} axes the words for axes whose name is none in this language
 *
 * @typedef {{order: string, mask: string, eps: string, scale: string, activation: string}} Settings
 * @typedef {{name: string, at: number}} Place
 */

export class Model {
  /**
   * @param {Data} data
   * @param {boolean} [later] whether the numbers of the file are computed later, by ``beginning``
   */
  constructor(data, later = false) {
    this.data = data;
    /** @type {Map<string, Map<number, string>>} */
    this.edits = new Map();
    const [first] = data.variants;
    /** @type {Settings} */
    this.settings = { order: first.order, mask: first.mask, eps: "", scale: "", activation: "" };
    /** @type {Shown[]} */
    this.steps = [];
    /** @type {Map<string, Matrix>} */
    this.matrices = new Map();
    /** @type {Map<string, Shown>} */
    this.byName = new Map();
    /** @type {import("./evaluate.mjs").Arrays} */
    this.values = {};
    /** @type {Map<string, number>} */
    this.places = new Map();
    this.noise = new Noise(this);
    /** @type {Set<string>} the matrices that are shown whole */
    this.wholes = new Set();
    this.broken = false; // whether a result is not a number
    /** The form that has been computed. */
    this.variant = first;
    this.original = this.values;
    if (!later) for (const _ of this.beginning());
  }

  /** Compute the numbers of the file, in parts. @returns {Generator<void, void>} */
  *beginning() {
    yield* this.computing();
    this.original = this.values;
  }

  /**
   * Find the form of the settings; a mask that the order does not have is that of the file.
   * @param {boolean} shifted
   */
  wanted(shifted) {
    const { order, mask } = this.settings;
    const own = this.data.variants.filter((v) => v.order === order && v.shifted === shifted);
    return own.find((v) => v.mask === mask) ?? own[0];
  }

  /** Compute everything again at once. */
  compute() {
    const all = this.computing();
    while (!all.next().done);
  }

  /**
   * Compute everything again, in parts; the numbers change at the end.
   * @param {string} [changed] the given matrix that alone has changed
   * @returns {Generator<void, void>}
   */
  *computing(changed) {
    const { data } = this;
    let variant = this.wanted(false);
    let [steps, values] = yield* this.worth(variant, changed);
    const other = this.wanted(true);
    if (other && variant.watched.some((name) => isBeyond(values[name], this.widthOf(name), data.plainLimit))) {
      variant = other;
      [steps, values] = yield* this.worth(variant);
    }
    this.variant = variant;
    this.steps = steps;
    this.matrices = new Map(variant.given.map((name) => [name, /** @type {Matrix} */ (data.given[name])]));
    for (const step of steps) this.matrices.set(step.name, step);
    this.byName = new Map(steps.map((step) => [step.name, step]));
    this.values = values;
    this.broken = Object.values(values).some(hasNaN);
    this.places = new Map();
    this.noise = new Noise(this);
  }

  /**
   * Compute a form of the block.
   * @param {Variant} variant
   * @param {string} [changed]
   * @returns {Generator<void, [Shown[], import("./evaluate.mjs").Arrays]>}
   */
  *worth(variant, changed) {
    const steps = variant.steps.map((i) => this.changed(this.data.steps[i]));
    const before = changed !== undefined && variant === this.variant ? untouched(this.steps, this.values, changed) : {};
    return [steps, yield* working(steps, this.given(variant), this.rounded(), before)];
  }

  /** Give the length of the rows of a step. @param {string} name */
  widthOf(name) {
    const { shape } = /** @type {Shown} */ (this.data.steps.find((step) => step.name === name));
    return shape[shape.length - 1];
  }

  /** Give the given matrices of a form with what was edited. @param {Variant} variant */
  given(variant) {
    /** @type {import("./evaluate.mjs").Arrays} */
    const found = {};
    for (const name of variant.given) {
      const own = Float64Array.from(this.data.given[name].values, Number);
      for (const [at, text] of this.edits.get(name) ?? []) own[at] = numberOf(text);
      found[name] = own;
    }
    return found;
  }

  /** Give the function that rounds a step, if the file asks for one. */
  rounded() {
    const { rounding } = this.data;
    if (!rounding) return undefined;
    const [kind, digits] = rounding;
    return (/** @type {Float64Array} */ values) => values.map((x) => roundedTo(x, kind, digits));
  }

  /**
   * Give a step with the settings in force.
   * @param {Shown} step
   * @returns {Shown}
   */
  changed(step) {
    const { eps, scale, activation } = this.settings;
    const { others } = step;
    if (!others) return step;
    let own = step;
    const take = (/** @type {string} */ key) => {
      if (others[key]) own = { ...own, cells: others[key].cells, formula: others[key].html };
    };
    if (eps) take(Number(eps) ? "eps" : "eps0");
    if (scale) take("scale");
    if (activation) take(activation);
    if (!own.cells || !(eps || scale)) return own;
    const numbers = { ...(eps && { eps: Number(eps) }), ...(scale && { scale: Number(scale) }) };
    return { ...own, cells: { ...own.cells, forms: own.cells.forms.map((form) => withNumbers(form, numbers)) } };
  }

  /** Tell whether a setting makes a difference. @param {string[]} keys of ``others`` */
  has(keys) {
    return this.data.steps.some((step) => keys.some((key) => step.others?.[key]));
  }

  // numbers ------------------------------------------------------------------------------------

  /**
   * Choose the digits of a number as its table shows it.
   * @param {string} name
   * @param {number} flat
   */
  figure(name, flat) {
    return figure(this.values[name][flat], this.placesAt(name, flat), this.data.digits, this.noise.of(name, flat));
  }

  /**
   * Give the number of decimals of the column of a number.
   * @param {string} name
   * @param {number} flat
   */
  placesAt(name, flat) {
    const matrix = /** @type {Matrix} */ (this.matrices.get(name));
    const { shape } = matrix;
    const width = shape.length > 1 ? shape[shape.length - 1] : 1;
    const height = shape.length > 1 ? shape[shape.length - 2] : matrix.upright ? shape[0] : 1;
    const start = shape.length > 1 || matrix.upright ? flat - (flat % (width * height)) + (flat % width) : flat;
    const key = `${name} ${start}`;
    let places = this.places.get(key);
    if (places === undefined) {
      const column = [];
      for (const i of this.wholes.has(name) ? Array(height).keys() : shownOf(height)) {
        const k = start + i * width;
        const x = this.values[name][k];
        if (Math.abs(x) > this.noise.of(name, k)) column.push(x);
      }
      places = columnPlaces(column, this.data.digits);
      this.places.set(key, places);
    }
    return places;
  }

  // cells --------------------------------------------------------------------------------------

  /**
   * @param {Shown} step
   * @param {number} flat
   */
  tree(step, flat) {
    const at = indexOf(step.shape, flat);
    return treeOf(patternOf(step, at), at);
  }

  /**
   * @param {Shown} step
   * @param {import("./trees.mjs").Node} leaf
   */
  entry(step, leaf) {
    return leaf.kind === "entry" ? this.values[step.inputs[leaf.operand]][leaf.at] : NaN;
  }

  /**
   * Write the arithmetic of a cell.
   * @param {Shown} step
   * @param {number} flat
   */
  worked(step, flat) {
    const { digits } = this.data;
    /** @param {import("./trees.mjs").Node} leaf @param {number} extra */
    const show = (leaf, extra) => {
      if (leaf.kind !== "entry") throw new TypeError(leaf.kind);
      const name = step.inputs[leaf.operand];
      const x = this.values[name][leaf.at];
      return operandFigure(x, this.placesAt(name, leaf.at), digits, extra, this.noise.of(name, leaf.at));
    };
    return worked(this.tree(step, flat), (leaf) => this.entry(step, leaf), show, this.figure(step.name, flat));
  }

  /**
   * Say why a cell has no arithmetic; empty if it has.
   * @param {Shown} step
   * @param {number} flat
   */
  wordsOf(step, flat) {
    const { words, worked: has } = step;
    if (!has) return this.data.texts.moved;
    const tree = this.tree(step, flat);
    if (tree.kind === "entry") return words.same;
    const value = (/** @type {import("./trees.mjs").Node} */ node) => valueOfTree(node, (leaf) => this.entry(step, leaf));
    for (const { name, args } of calls(tree)) {
      if (name === "over" && value(args[1]) === 0) return words.over;
      if (name === "ratio" && value(args[1]) === 0) return words.undefined;
    }
    return "";
  }

  /**
   * Give the entries that a cell is computed from.
   * @param {Place} place
   * @returns {Place[]}
   */
  sources({ name, at }) {
    const step = this.byName.get(name);
    if (!step || !step.cells) return [];
    return [...entries(this.tree(step, at))].map((e) => ({ name: step.inputs[e.operand], at: e.at }));
  }

  /**
   * Give the cells that use a cell.
   * @param {Place} place
   * @returns {Place[]}
   */
  uses({ name, at }) {
    return this.steps.flatMap((step) => {
      const own = new Set(step.inputs.flatMap((input, i) => (input === name ? users(step, i, at) : [])));
      return [...own].map((place) => ({ name: step.name, at: place }));
    });
  }

  /**
   * Change a given number; the number of the file removes the change. The values follow when they
   * are computed again.
   * @param {Place} place
   * @param {string} text
   */
  edit({ name, at }, text) {
    const own = this.edits.get(name) ?? new Map();
    if (numberOf(text) === Number(this.data.given[name].values[at])) own.delete(at);
    else own.set(at, text.trim());
    if (own.size) this.edits.set(name, own);
    else this.edits.delete(name);
  }
}
