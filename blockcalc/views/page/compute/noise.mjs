// @ts-check
/** Which small numbers are round-off, and shown as 0: the rules of explain/round_off.py. */

import { most, topOf } from "./patterns.mjs";
import { entries, magnitude, parts } from "./trees.mjs";

/** @typedef {import("./trees.mjs").Node} Node */
/** @typedef {{noise: number, size: number}} Known the size of round-off, and of what was added up */

const NOISE = 8 * Number.EPSILON; // of the size of what is added up
const FAINT = 1e-9; // a number is looked at only if it is so small in its matrix
const NONE = { noise: 0, size: 0 };

export class Noise {
  /** @param {import("./model.mjs").Model} model whose numbers have just been computed */
  constructor(model) {
    this.model = model;
    /** @type {Map<string, Known>} */
    this.known = new Map();
    /** @type {Map<string, number>} */
    this.tops = new Map();
  }

  /**
   * Give the size below which a number is round-off; 0 if it is none.
   * @param {string} name
   * @param {number} at
   */
  of(name, at) {
    return this.find(name, at).noise;
  }

  /**
   * @param {string} name
   * @param {number} at
   * @returns {Known}
   */
  find(name, at) {
    const step = this.model.byName.get(name);
    const x = Math.abs(this.model.values[name][at]);
    if (!step?.cells || !step.worked || x === 0 || !Number.isFinite(x) || x > FAINT * this.most(step)) return NONE;
    const key = `${name} ${at}`;
    let own = this.known.get(key);
    if (own === undefined) {
      own = this.found(step, at, x);
      this.known.set(key, own);
    }
    return own;
  }

  /**
   * @param {import("./model.mjs").Shown} step
   * @param {number} at
   * @param {number} x
   * @returns {Known}
   */
  found(step, at, x) {
    const tree = this.model.tree(step, at);
    if (!adds(tree)) {
      const noise = this.inherited(step, tree);
      return x <= noise ? { noise, size: 0 } : NONE;
    }
    const size = magnitude(tree, (leaf) => this.sized(step, leaf));
    return x <= NOISE * size && Number.isFinite(size) ? { noise: NOISE * size, size } : NONE;
  }

  /**
   * Give the value of an entry; of one that is round-off, the size of what was added up.
   * @param {import("./model.mjs").Shown} step
   * @param {Node} leaf
   */
  sized(step, leaf) {
    if (leaf.kind !== "entry") return NaN;
    const { size } = this.find(step.inputs[leaf.operand], leaf.at);
    return size || Math.abs(this.model.entry(step, leaf));
  }

  /**
   * Give the size below which a result is round-off because its operands are.
   * @param {import("./model.mjs").Shown} step
   * @param {Node} tree
   */
  inherited(step, tree) {
    let [size, others] = [0, 1];
    for (const entry of entries(tree)) {
      const noise = this.of(step.inputs[entry.operand], entry.at);
      size = Math.max(size, noise);
      if (!noise) others *= Math.max(1, Math.abs(this.model.values[step.inputs[entry.operand]][entry.at]));
    }
    return size * others;
  }

  /**
   * Bound the size of what is added up in any cell of a step.
   * @param {import("./model.mjs").Shown} step
   * @returns {number}
   */
  most(step) {
    let own = this.tops.get(step.name);
    if (own === undefined) {
      const { forms } = /** @type {import("./evaluate.mjs").Patterns} */ (step.cells);
      const tops = step.inputs.map((name) => this.top(name));
      own = Math.max(...forms.map((form) => most(form, tops)));
      this.tops.set(step.name, own);
    }
    return own;
  }

  /**
   * Give the largest number of a matrix; if all of it may be round-off, about what was added up.
   * @param {string} name
   * @returns {number}
   */
  top(name) {
    const key = `top ${name}`;
    let own = this.tops.get(key);
    if (own === undefined) {
      own = topOf(this.model.values[name]);
      const step = this.model.byName.get(name);
      const size = step?.cells ? this.most(step) : 0;
      const least = Number.isFinite(size) ? size : Math.max(0, ...(step?.inputs ?? []).map((input) => this.top(input)));
      if (own <= FAINT * least) own = least;
      this.tops.set(key, own);
    }
    return own;
  }
}

/**
 * Tell whether a tree adds up terms and calls no function, so that its round-off is that of a sum.
 * @param {Node} node
 * @returns {boolean}
 */
function adds(node) {
  if (node.kind === "fold") return node.op === "+";
  if (node.kind === "call" && node.name !== "over" && node.name !== "ratio") return false;
  if (node.kind === "binary" && node.op === "^") return false;
  const own = parts(node);
  if (own.some((part) => calls(part))) return false;
  return (node.kind === "binary" && (node.op === "+" || node.op === "-")) || own.some(adds);
}

/**
 * Tell whether a tree calls a function or takes a power outside of a sum.
 * @param {Node} node
 * @returns {boolean}
 */
function calls(node) {
  if (node.kind === "fold") return false;
  if (node.kind === "call" && node.name !== "over" && node.name !== "ratio") return true;
  return (node.kind === "binary" && node.op === "^") || parts(node).some(calls);
}
