// @ts-check
/** Compute the steps of a program from the patterns of their cells. */

import { FUNCTIONS, OPERATORS, softplus } from "./functions.mjs";
import { terms } from "./patterns.mjs";

/**
 * A tree as plain data: see patterns.py.
 * @typedef {any[]} Pattern
 *
 * @typedef {{axis: number | null, forms: Pattern[]}} Patterns
 *
 * @typedef {object} Step
 * @property {string} name
 * @property {string[]} inputs
 * @property {number[]} shape
 * @property {Patterns | null} cells null for drawn numbers, which are given as values
 * @property {string} beyond what the operation does beyond the tree of its cells, or ""
 * @property {number[]} [values]
 *
 * @typedef {Record<string, Float64Array>} Arrays
 * @typedef {(at: number[], inner: number[]) => number} Cell
 */

const BETWEEN = 200000; // numbers that are read between two pauses: about a millisecond
const SAME = 4 * Number.EPSILON; // a row is constant up to this much of its largest entry

/**
 * Tell whether a pattern is ln(1 + e^x), and give x.
 * @param {Pattern} p
 * @returns {Pattern | null}
 */
function softplusOf(p) {
  const sum = p[0] === "f" && p[1] === "ln" ? p[2] : null;
  if (!sum || sum[0] !== "b" || sum[1] !== "+" || sum[2][0] !== "n" || sum[2][1] !== 1) return null;
  return sum[3][0] === "f" && sum[3][1] === "exp" ? sum[3][2] : null;
}

/**
 * Make a function that computes a cell.
 * @param {Pattern} p
 * @param {Float64Array[]} operands
 * @returns {Cell}
 */
function compile(p, operands) {
  switch (p[0]) {
    case "n":
      return () => p[1];
    case "c": {
      const [, operand, base, strides, steps] = p;
      const values = operands[operand];
      return (at, inner) => {
        let k = base;
        for (let i = 0; i < strides.length; i += 1) k += strides[i] * at[i];
        for (let i = 0; i < steps.length; i += 1) k += steps[i] * inner[i];
        return values[k];
      };
    }
    case "b": {
      const [left, right] = [compile(p[2], operands), compile(p[3], operands)];
      const operator = OPERATORS[p[1]];
      return (at, inner) => operator(left(at, inner), right(at, inner));
    }
    case "f": {
      const power = softplusOf(p);
      if (power) {
        const inside = compile(power, operands);
        return (at, inner) => softplus(inside(at, inner));
      }
      const own = p.slice(2).map((/** @type {Pattern} */ part) => compile(part, operands));
      const call = FUNCTIONS[p[1]];
      if (own.length === 1) return (at, inner) => call(own[0](at, inner));
      return (at, inner) => call(...own.map((one) => one(at, inner)));
    }
    default:
      return folded(p, operands);
  }
}

/**
 * Make a function that computes a sum or a maximum.
 * @param {Pattern} p
 * @param {Float64Array[]} operands
 * @returns {Cell}
 */
function folded(p, operands) {
  const runs = p.slice(2).map((/** @type {any[]} */ [sizes, body]) => {
    const product = sizes.length === 1 && products(body, operands, sizes[0]);
    return product || each(sizes, compile(body, operands));
  });
  const largest = p[1] === "max";
  return (at) => {
    let total = largest ? -Infinity : 0;
    for (const run of runs) {
      run(at, (/** @type {number} */ x) => {
        total = largest ? Math.max(total, x) : total + x;
      });
    }
    return total;
  };
}

/**
 * Give every term of a run to a function.
 * @param {number[]} sizes
 * @param {Cell} body
 */
function each(sizes, body) {
  /** @param {number[]} at @param {(x: number) => void} take */
  return (at, take) => {
    const inner = sizes.map(() => 0);
    for (;;) {
      take(body(at, inner));
      let k = sizes.length - 1;
      while (k >= 0 && inner[k] === sizes[k] - 1) inner[k--] = 0;
      if (k < 0) return;
      inner[k] += 1;
    }
  };
}

/**
 * The same for products of two entries, in one loop: a matrix product is mostly this.
 * @param {Pattern} body
 * @param {Float64Array[]} operands
 * @param {number} n
 */
function products(body, operands, n) {
  const [kind, operator, left, right] = body;
  if (kind !== "b" || operator !== "*" || left[0] !== "c" || right[0] !== "c") return null;
  const [a, b] = [operands[left[1]], operands[right[1]]];
  /** @param {Pattern} p @param {number[]} at */
  const start = (p, at) => at.reduce((k, i, axis) => k + p[3][axis] * i, p[2]);
  const [stepA, stepB] = [left[4][0], right[4][0]];
  /** @param {number[]} at @param {(x: number) => void} take */
  return (at, take) => {
    let total = 0;
    let i = start(left, at);
    let j = start(right, at);
    for (let k = 0; k < n; k += 1) {
      total += a[i] * b[j];
      i += stepA;
      j += stepB;
    }
    take(total);
  };
}

/**
 * Compute one step, in parts: a pause comes whenever much has been computed.
 * @param {Step} step
 * @param {Float64Array[]} operands
 * @returns {Generator<void, Float64Array>}
 */
export function* computing(step, operands) {
  if (step.cells === null) return Float64Array.from(step.values ?? [], Number);
  const { axis, forms } = step.cells;
  const cells = forms.map((form) => compile(form, operands));
  const pause = Math.max(1, Math.floor(BETWEEN / Math.max(...forms.map(terms))));
  const size = step.shape.reduce((a, b) => a * b, 1);
  const out = new Float64Array(size);
  const at = step.shape.map(() => 0);
  for (let k = 0; k < size; k += 1) {
    out[k] = cells[axis === null ? 0 : at[axis]](at, []);
    for (let i = at.length - 1; i >= 0; i -= 1) {
      at[i] += 1;
      if (at[i] < step.shape[i]) break;
      at[i] = 0;
    }
    if (k % pause === pause - 1) yield;
  }
  const beyond = BEYOND[step.beyond];
  if (beyond) beyond(out, operands, step.shape[step.shape.length - 1] ?? 1);
  return out;
}

/**
 * What operations do beyond the tree of their cells, by the names in Python.
 * @type {Record<string, (out: Float64Array, operands: Float64Array[], width: number) => void>}
 */
export const BEYOND = {
  /** The deviations of a row that is constant up to round-off are 0. */
  equal_rows(out, [x], width) {
    for (let row = 0; row < out.length; row += width) {
      const own = out.subarray(row, row + width);
      const top = x.subarray(row, row + width).reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      if (own.every((v) => Math.abs(v) <= SAME * top)) own.fill(0);
    }
  },
  /** A mean lies between the smallest and the largest number of its row. */
  between(out, [x]) {
    const width = x.length / out.length;
    for (let k = 0; k < out.length; k += 1) {
      const row = x.subarray(k * width, (k + 1) * width);
      const [low, high] = row.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
      out[k] = Math.min(Math.max(out[k], low), high);
    }
  },
  /** A row of scores with only minus infinity is unchanged. */
  masked_rows(out, [x, top], width) {
    for (let k = 0; k < out.length; k += 1) {
      if (top[Math.floor(k / width)] === -Infinity) out[k] = x[k];
    }
  },
};

/**
 * Compute the steps of a program, in parts.
 * @param {Step[]} steps
 * @param {Arrays} given the given matrices by name
 * @param {((values: Float64Array) => Float64Array) | undefined} rounded rounds a step
 * @param {Arrays} [before] results that are still right
 * @returns {Generator<void, Arrays>} the same, and every step
 */
export function* working(steps, given, rounded, before = {}) {
  /** @type {Arrays} */
  const values = { ...given };
  for (const step of steps) {
    if (before[step.name]) {
      values[step.name] = before[step.name];
      continue;
    }
    const own = yield* computing(step, step.inputs.map((name) => values[name]));
    values[step.name] = rounded ? rounded(own) : own;
  }
  return values;
}

/**
 * Give the results that do not depend on a given matrix.
 * @param {Step[]} steps
 * @param {Arrays} values
 * @param {string} name
 * @returns {Arrays}
 */
export function untouched(steps, values, name) {
  /** @type {Arrays} */
  const found = {};
  const touched = new Set([name]);
  for (const step of steps) {
    if (step.inputs.some((input) => touched.has(input))) touched.add(step.name);
    else found[step.name] = values[step.name];
  }
  return found;
}
