// @ts-check
/** What can be told of a pattern without its cells; patterns.py says what a pattern is. */

/** @param {number[]} sizes */
const product = (sizes) => sizes.reduce((a, b) => a * b, 1);

const MOST_SHOWN = 32;
const KEPT_AT_END = 8;

/**
 * Choose which of n rows or columns of a matrix are shown, where it is not shown whole.
 * @param {number} n
 */
export function shownOf(n) {
  const all = [...Array(n).keys()];
  return n <= MOST_SHOWN ? all : [...all.slice(0, KEPT_AT_END), ...all.slice(-KEPT_AT_END)];
}

/**
 * Give the index of a cell from its position in the flat array.
 * @param {number[]} shape
 * @param {number} flat
 */
export function indexOf(shape, flat) {
  const at = [];
  let rest = flat;
  for (let i = shape.length - 1; i >= 0; i -= 1) {
    at.unshift(rest % shape[i]);
    rest = Math.floor(rest / shape[i]);
  }
  return at;
}

/**
 * Count the numbers that a pattern reads.
 * @param {any[]} p
 * @returns {number}
 */
export function terms(p) {
  if (p[0] === "c" || p[0] === "n") return 1;
  if (p[0] !== "s") return p.slice(p[0] === "b" || p[0] === "f" ? 2 : 1).reduce((n, part) => n + terms(part), 0);
  return p.slice(2).reduce((n, [sizes, body]) => n + terms(body) * product(sizes), 0);
}

/**
 * Tell whether the largest score of a row is so large, or so far below 0, that plain exponentials
 * would overflow or vanish; a row with only minus infinity is left out.
 * @param {Float64Array} scores
 * @param {number} width
 * @param {number} limit
 */
export function isBeyond(scores, width, limit) {
  for (let start = 0; start < scores.length; start += width) {
    let top = -Infinity;
    for (let k = start; k < start + width; k += 1) top = Math.max(top, scores[k]);
    if (Number.isFinite(top) && Math.abs(top) > limit) return true;
  }
  return false;
}

/** Tell whether an entry is not a number. @param {Float64Array} values */
export function hasNaN(values) {
  for (const x of values) if (Number.isNaN(x)) return true;
  return false;
}

/** Give the size of the largest finite number. @param {Float64Array} values */
export function topOf(values) {
  let top = 0;
  for (const x of values) if (Number.isFinite(x) && Math.abs(x) > top) top = Math.abs(x);
  return top;
}

const FAR = 5; // how many times the next size a number is that ends no scale
const ROUND_OFF = 1e-9; // relative to the largest number: smaller ones are no sizes

/**
 * Give the size at which the shades of a matrix end: that of its largest number, or, where a few
 * numbers are far beyond all others, of the largest of those.
 * @param {Float64Array} values
 */
export function limitOf(values) {
  const top = topOf(values);
  const sizes = values.map(Math.abs).filter((x) => x <= top && x > ROUND_OFF * top).sort();
  for (let i = sizes.length - 1; i > 0 && 4 * (sizes.length - i) <= sizes.length; i--) {
    if (sizes[i] > FAR * sizes[i - 1]) return sizes[i - 1];
  }
  return top;
}

/**
 * Bound the size of what a pattern adds up; of quotients and functions nothing is said.
 * @param {any[]} p
 * @param {number[]} tops the largest number of each operand
 * @returns {number}
 */
export function most(p, tops) {
  switch (p[0]) {
    case "n":
      return Math.abs(p[1]);
    case "c":
      return tops[p[1]];
    case "b": {
      const [a, b] = [most(p[2], tops), most(p[3], tops)];
      if (p[1] === "/") return p[3][0] === "n" ? a / b : Infinity;
      return p[1] === "*" ? a * b : p[1] === "^" ? Infinity : a + b;
    }
    case "f":
      return Infinity;
    default: {
      const sizes = p.slice(2).map(([own, body]) => most(body, tops) * product(own));
      return sizes.reduce((a, b) => a + b, 0);
    }
  }
}

/**
 * Put other numbers in place of constants that have a symbol.
 * @param {any[]} p
 * @param {Record<string, number>} numbers
 * @returns {any[]}
 */
export function withNumbers(p, numbers) {
  if (p[0] === "n") return p[2] in numbers ? ["n", numbers[p[2]], p[2]] : p;
  return p.map((part) => (Array.isArray(part) ? withNumbers(part, numbers) : part));
}
