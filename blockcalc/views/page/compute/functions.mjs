// @ts-check
/** The functions of a tree, with the conventions of the program that wrote it. */

const SPLIT = 134217729; // 2^27 + 1: halves the bits of a double (Dekker, 1971)
const SMALL = 0.9; // below, the series of erf; above, the continued fraction of erfc
const TERMS = 400; // of the fraction, over x²

/**
 * e to the power -x², without the error of the square.
 * @param {number} x
 * @returns {number}
 */
function gaussian(x) {
  const square = x * x;
  const high = SPLIT * x - (SPLIT * x - x);
  const low = x - high;
  const rest = high * high - square + 2 * high * low + low * low;
  return Math.exp(-square) * (1 - rest);
}

/**
 * The complement of the error function: DLMF 7.6.2 near 0, DLMF 7.9.2 elsewhere.
 * @param {number} x
 * @returns {number}
 */
export function erfc(x) {
  if (Number.isNaN(x)) return x;
  if (x < 0) return 2 - erfc(-x);
  if (x > 27.3) return 0;
  if (x < SMALL) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * gaussian(x) * sum;
  }
  let tail = 0;
  for (let n = Math.ceil(TERMS / (x * x)) + 10; n > 0; n -= 1) tail = n / 2 / (x + tail);
  return gaussian(x) / (Math.sqrt(Math.PI) * (x + tail));
}

/** @type {Record<string, (...args: number[]) => number>} */
export const FUNCTIONS = {
  exp: Math.exp,
  ln: Math.log,
  sqrt: Math.sqrt,
  abs: Math.abs,
  tanh: Math.tanh,
  cos: Math.cos,
  sin: Math.sin,
  erfc,
  max: Math.max,
  ratio: (a, b) => (a === 0 && b === 0 ? 0 : a / b),
  over: (a, b) => (b === 0 ? 0 : a / b),
  mask: (x, allowed) => (allowed === 0 ? -Infinity : x),
  step: (x) => (x > 0 ? 1 : 0),
  allowed: (keep) => (keep !== 0 ? 1 : 0),
};

/** @type {Record<string, (a: number, b: number) => number>} */
export const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "^": (a, b) => a ** b,
};

/**
 * ln(1 + e^x), where e^x overflows and where it vanishes beside 1.
 * @param {number} x
 * @returns {number}
 */
export function softplus(x) {
  return x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x));
}
