// @ts-check
/** A block that can be changed: its forms, settings and edited numbers, and all values. */

import { columnPlaces, figure, roundedTo } from "./digits.mjs";
import { work } from "./evaluate.mjs";
import { entries, magnitude, operandFigure, patternOf, treeOf, worked } from "./trees.mjs";

/**
 * @typedef {object} Matrix
 * @property {string} name
 * @property {string} symbol
 * @property {string[]} axes
 * @property {number[]} shape
 * @property {boolean} upright whether a vector is shown as a column
 *
 * @typedef {import("./evaluate.mjs").Step & Matrix & {title: string, number: number, math: string,
 *   formula: string, part: string, worked: boolean, weights: boolean, norm: boolean,
 *   activation: string | null}} Shown
 *
 * @typedef {{order: string, orderText: string, mask: string, given: string[], steps: Shown[],
 *   headings: {title: string, prose: string, at: number}[], out: string}} Variant
 *
 * @typedef {object} Data
 * @property {number} digits
 * @property {[string, number] | null} rounding
 * @property {string[][]} tokens
 * @property {Record<string, Matrix & {role: string, values: (number | string)[]}>} given
 * @property {Variant[]} variants
 * @property {Record<string, {text: string, tree: any[]}>} activations
 * @property {Record<string, string>} texts
 *
 * @typedef {{order: string, mask: string, eps: string, scale: string, activation: string}} Settings
 */

const NOISE = 8 * Number.EPSILON; // of the size of what is added up
const FAINT = 1e-9; // a number is looked at as round-off only if it is so small in its matrix
const MOST_READ = 400000; // entries that are looked through for the cells that use one

/**
 * Read a number: a decimal or a fraction of whole numbers. NaN if it is none.
 * @param {string} text
 */
export function numberOf(text) {
  const plain = text.trim().replace(/[−–]/g, "-");
  const fraction = /^([+-]?\d+)\s*\/\s*(\d+)$/.exec(plain);
  if (fraction) return Number(fraction[1]) / Number(fraction[2]);
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

/**
 * Tell whether a written number is right: to half a unit of its last digit; whole numbers and
 * fractions are exact.
 * @param {string} text
 * @param {number} right
 */
export function isRight(text, right) {
  const [plain, power] = text.trim().toLowerCase().split("e");
  const decimals = plain.includes(".") ? plain.split(".")[1].length : -1;
  const half = decimals < 0 ? 0 : (10 ** (Number(power ?? 0) - decimals)) / 2;
  const slack = 1e-12 * Math.max(1, Math.abs(right));
  return Math.abs(numberOf(text) - right) <= half * (1 + 1e-9) + slack;
}

export class Model {
  /** @param {Data} data */
  constructor(data) {
    this.data = data;
    /** @type {Map<string, Map<number, string>>} */
    this.edits = new Map();
    /** @type {Map<string, Map<number, string>>} */
    this.guesses = new Map();
    const [first] = data.variants;
    /** @type {Settings} */
    this.settings = { order: first.order, mask: first.mask, eps: "", scale: "", activation: "" };
    this.compute();
    this.original = this.values;
  }

  /** Give the form in use; a mask that the order does not have is that of the file. */
  get variant() {
    const { order, mask } = this.settings;
    const own = this.data.variants.filter((v) => v.order === order);
    return own.find((v) => v.mask === mask) ?? own[0];
  }

  /** Compute everything again. */
  compute() {
    this.steps = this.variant.steps.map((step) => ({ ...step, cells: this.changed(step) }));
    /** @type {Map<string, Matrix>} */
    this.matrices = new Map();
    for (const name of this.variant.given) this.matrices.set(name, this.data.given[name]);
    for (const step of this.steps) this.matrices.set(step.name, step);
    this.byName = new Map(this.steps.map((step) => [step.name, step]));
    this.values = work(this.steps, this.given(), this.rounding());
    /** @type {Map<string, number>} */
    this.places = new Map();
  }

  /** Give the given matrices with what was edited. */
  given() {
    /** @type {import("./evaluate.mjs").Arrays} */
    const found = {};
    for (const name of this.variant.given) {
      const own = Float64Array.from(this.data.given[name].values, Number);
      for (const [at, text] of this.edits.get(name) ?? []) own[at] = numberOf(text);
      found[name] = own;
    }
    return found;
  }

  /** Give the function that rounds a step, if the file asks for one. */
  rounding() {
    const { rounding } = this.data;
    if (!rounding) return undefined;
    const [kind, digits] = rounding;
    /** @param {string} _ @param {Float64Array} values */
    return (_, values) => values.map((x) => roundedTo(x, kind, digits));
  }

  /**
   * Give the patterns of a step with the settings in force.
   * @param {Shown} step
   */
  changed(step) {
    const { eps, scale, activation } = this.settings;
    if (!step.cells) return step.cells;
    let { forms } = step.cells;
    if (eps && step.norm) forms = forms.map((form) => withEps(form, Number(eps)));
    if (scale && step.part === "scaled") {
      forms = forms.map((form) => ["b", "*", leafOf(form), ["n", Number(scale), "scale"]]);
    }
    if (activation && step.activation) {
      const { tree } = this.data.activations[activation];
      forms = forms.map((form) => grafted(tree, leafOf(form)));
    }
    return { ...step.cells, forms };
  }

  // numbers ------------------------------------------------------------------------------------

  /**
   * Give the index of a cell from its position in the flat array.
   * @param {number[]} shape
   * @param {number} flat
   */
  static indexOf(shape, flat) {
    const at = [];
    let rest = flat;
    for (let i = shape.length - 1; i >= 0; i -= 1) {
      at.unshift(rest % shape[i]);
      rest = Math.floor(rest / shape[i]);
    }
    return at;
  }

  /**
   * Give the size below which a number is round-off.
   * @param {string} name
   * @param {number} flat
   */
  noise(name, flat) {
    const step = this.byName.get(name);
    const x = Math.abs(this.values[name][flat]);
    if (!step || !step.cells || x === 0 || !Number.isFinite(x)) return 0;
    const tree = this.tree(step, flat);
    const size = magnitude(tree, (leaf) => Math.abs(this.entry(step, leaf)));
    return x <= FAINT * size ? NOISE * size : 0;
  }

  /**
   * Choose the digits of a number as its table shows it.
   * @param {string} name
   * @param {number} flat
   */
  figure(name, flat) {
    return figure(this.values[name][flat], this.placesAt(name, flat), this.data.digits, this.noise(name, flat));
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
      for (let i = 0; i < height; i += 1) {
        const k = start + i * width;
        const x = this.values[name][k];
        if (Math.abs(x) > this.noise(name, k)) column.push(x);
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
    const at = Model.indexOf(step.shape, flat);
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
      return operandFigure(x, this.placesAt(name, leaf.at), digits, extra, this.noise(name, leaf.at));
    };
    return worked(this.tree(step, flat), (leaf) => this.entry(step, leaf), show, this.figure(step.name, flat));
  }

  /**
   * Give the entries that a cell is computed from.
   * @param {string} name
   * @param {number} flat
   * @returns {{name: string, at: number}[]}
   */
  sources(name, flat) {
    const step = this.byName.get(name);
    if (!step || !step.cells) return [];
    return [...entries(this.tree(step, flat))].map((e) => ({ name: step.inputs[e.operand], at: e.at }));
  }

  /**
   * Give the cells that use a cell.
   * @param {string} name
   * @param {number} flat
   * @returns {{name: string, at: number}[]}
   */
  uses(name, flat) {
    const found = [];
    let read = 0;
    for (const step of this.steps) {
      if (!step.inputs.includes(name)) continue;
      for (let k = 0; k < this.values[step.name].length && read < MOST_READ; k += 1) {
        const own = [...entries(this.tree(step, k))];
        read += own.length;
        if (own.some((e) => step.inputs[e.operand] === name && e.at === flat)) {
          found.push({ name: step.name, at: k });
        }
      }
    }
    return found;
  }

  // what a person writes -------------------------------------------------------------------------

  /**
   * Change a given number; the number of the file removes the change.
   * @param {string} name
   * @param {number} flat
   * @param {string} text
   */
  edit(name, flat, text) {
    const own = this.edits.get(name) ?? new Map();
    if (numberOf(text) === Number(this.data.given[name].values[flat])) own.delete(flat);
    else own.set(flat, text.trim());
    if (own.size) this.edits.set(name, own);
    else this.edits.delete(name);
    this.compute();
  }

  /**
   * Judge a number for a cell: right, right from the person's own numbers before it, or wrong.
   * @param {string} name
   * @param {number} flat
   * @param {string} text
   * @returns {"right" | "carried" | "wrong"}
   */
  judge(name, flat, text) {
    if (isRight(text, this.values[name][flat])) return "right";
    /** @param {string} step @param {Float64Array} values */
    const pinned = (step, values) => {
      const own = this.rounding()?.(step, values) ?? values;
      for (const [at, said] of this.guesses.get(step) ?? []) {
        if (!(step === name && at === flat) && !Number.isNaN(numberOf(said))) own[at] = numberOf(said);
      }
      return own;
    };
    const carried = work(this.steps, this.given(), pinned);
    return isRight(text, carried[name][flat]) ? "carried" : "wrong";
  }
}

/**
 * Give the first entry of an operand in a pattern.
 * @param {any[]} p
 * @returns {any[]}
 */
function leafOf(p) {
  if (p[0] === "c") return p;
  for (const part of p) {
    const found = Array.isArray(part) ? leafOf(part) : [];
    if (found.length) return found;
  }
  return [];
}

/**
 * Put an entry into the tree of a function of one operand.
 * @param {any[]} tree
 * @param {any[]} leaf
 * @returns {any[]}
 */
function grafted(tree, leaf) {
  if (tree[0] === "x") return leaf;
  return tree.map((part) => (Array.isArray(part) ? grafted(part, leaf) : part));
}

/**
 * Put another eps into the root of a norm; 0 leaves it out.
 * @param {any[]} p
 * @param {number} eps
 * @returns {any[]}
 */
function withEps(p, eps) {
  const own = ["n", eps, "eps"];
  const [kind, operator, left, right] = p;
  if (kind === "b" && operator === "+" && right[2] === "eps") return eps ? [kind, operator, left, own] : left;
  if (kind === "f" && operator === "sqrt" && left[0] === "c") return eps ? ["f", "sqrt", ["b", "+", left, own]] : p;
  return p.map((part) => (Array.isArray(part) && typeof part[0] === "string" ? withEps(part, eps) : part));
}
