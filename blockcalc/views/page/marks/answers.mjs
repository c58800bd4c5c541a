// @ts-check
/** Numbers that a person types: their value, how exact they are, and ranges of what follows. */

import { FUNCTIONS } from "../compute/functions.mjs";

/** @typedef {import("../compute/trees.mjs").Node} Node */
/** @typedef {[number, number]} Range the least and the largest value */

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,4})?$/i;
const WORDS = /** @type {Record<string, number>} */ ({ inf: Infinity, "∞": Infinity, infinity: Infinity });
const SLACK = 1e-12; // relative: the round-off of what is computed here
const MINUS = /[−–]/g;

/** @param {string} text */
const plainOf = (text) => text.trim().replace(MINUS, "-");

/**
 * Read a number: a decimal, a fraction, or an infinite one. NaN if it is none.
 * @param {string} text
 * @returns {number}
 */
export function numberOf(text) {
  const plain = plainOf(text);
  const parts = plain.split("/");
  if (parts.length === 2) {
    const [a, b] = parts.map((part) => (NUMBER.test(part.trim()) ? Number(part) : NaN));
    return b === 0 ? NaN : a / b;
  }
  const sign = plain.startsWith("-") ? -1 : 1;
  const word = WORDS[plain.replace(/^[+-]/, "").toLowerCase()];
  if (word !== undefined) return sign * word;
  const value = NUMBER.test(plain) ? Number(plain) : NaN;
  return Number.isFinite(value) ? value : NaN;
}

/**
 * Give half a unit of the last digit of a number; a whole number and a fraction of them are exact.
 * @param {string} text
 * @returns {number}
 */
export function halfUnit(text) {
  const plain = plainOf(text).toLowerCase();
  const parts = plain.split("/");
  if (parts.length === 2) {
    const [a, b] = parts.map(Number);
    const [i, j] = parts.map(halfUnit);
    const corners = [-1, 1].flatMap((s) => [-1, 1].map((t) => (a + s * i) / (b + t * j)));
    return Math.max(...corners.map((corner) => Math.abs(corner - a / b)));
  }
  const [digits, power] = plain.split("e");
  const places = digits.includes(".") ? digits.length - digits.indexOf(".") - 1 : 0;
  let exponent = Number(power ?? 0);
  if (!/[1-9]/.test(digits)) exponent = Math.min(exponent, 0);
  return places || exponent < 0 ? Number(`5e${exponent - places - 1}`) : 0;
}

/**
 * Tell whether a typed number may be one of a range.
 * @param {string} text
 * @param {Range} range
 */
export function agrees(text, [low, high]) {
  const typed = numberOf(text);
  if (!Number.isFinite(typed)) return typed === low || typed === high;
  const half = halfUnit(text) * (1 + 1e-9);
  const own = SLACK * Math.max(Math.abs(low), Math.abs(high));
  return typed + half + own >= low && typed - half - own <= high;
}

// ranges ---------------------------------------------------------------------------------------

/** @type {(values: number[]) => Range} */
const hull = (values) => (values.some(Number.isNaN) ? [-Infinity, Infinity] : [Math.min(...values), Math.max(...values)]);

/** @param {Range} r */
const masked = ([low, high]) => low === -Infinity && high === -Infinity;

/** @param {Range} r */
const reaches0 = ([low, high]) => low <= 0 && high >= 0;

/** @type {Record<string, (a: Range, b: Range) => Range>} */
const BINARY = {
  "+": (a, b) => [a[0] + b[0], a[1] + b[1]],
  "-": (a, b) => (masked(a) ? a : [a[0] - b[1], a[1] - b[0]]),
  "*": (a, b) => hull(a.flatMap((x) => b.map((y) => (x === 0 || y === 0 ? 0 : x * y)))),
  "/": (a, b) => {
    if (b[0] === b[1] || !reaches0(b)) return hull(a.flatMap((x) => b.map((y) => x / y)));
    return [-Infinity, Infinity];
  },
  "^": (a, b) => {
    const ends = a.flatMap((x) => b.map((y) => x ** y));
    return hull(reaches0(a) && b[0] > 0 ? [...ends, 0] : ends);
  },
};

/**
 * Give the range of a tree from those of its entries.
 * @param {Node} node
 * @param {(leaf: Node) => Range} leaf
 * @returns {Range}
 */
export function rangeOf(node, leaf) {
  switch (node.kind) {
    case "number":
      return [node.value, node.value];
    case "binary":
      return BINARY[node.op](rangeOf(node.left, leaf), rangeOf(node.right, leaf));
    case "fold": {
      const terms = node.terms.map((term) => rangeOf(term, leaf));
      const joined = node.op === "max" ? (/** @type {Range} */ a, /** @type {Range} */ b) => largest(a, b) : BINARY["+"];
      return terms.reduce(joined);
    }
    case "call":
      return called(node.name, node.args.map((arg) => rangeOf(arg, leaf)));
    default:
      return leaf(node);
  }
}

/** @type {(a: Range, b: Range) => Range} */
const largest = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1])];

/**
 * @param {string} name
 * @param {Range[]} args
 * @returns {Range}
 */
function called(name, args) {
  const [a, b] = args;
  if (a[0] === a[1] && (!b || b[0] === b[1])) {
    const value = FUNCTIONS[name](a[0], b?.[0]);
    return [value, value];
  }
  switch (name) {
    case "cos":
    case "sin": {
      const ends = a.map((x) => FUNCTIONS[name](x));
      const wide = a[1] - a[0];
      return [Math.max(-1, Math.max(...ends) - wide), Math.min(1, Math.min(...ends) + wide)];
    }
    case "abs":
      return hull(reaches0(a) ? [0, ...a.map(Math.abs)] : a.map(Math.abs));
    case "max":
      return largest(a, b);
    case "ratio":
    case "over":
      return BINARY["/"](a, b);
    case "mask":
      return b[0] === 0 ? [-Infinity, -Infinity] : a;
    case "sqrt":
    case "ln":
      return hull(a.map((x) => FUNCTIONS[name](Math.max(0, x))));
    default:
      return hull(a.map((x) => FUNCTIONS[name](x)));
  }
}
