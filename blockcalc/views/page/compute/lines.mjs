// @ts-check
/** The arithmetic of a cell on one line, with as many digits as make it come out as printed. */

import { constant, figure, figureText, placesNeeded, roundsTo, valueOf } from "./digits.mjs";
import { magnitude, parts, replaced, valueOfTree } from "./trees.mjs";

/** @typedef {import("./trees.mjs").Node} Node */

const MOST_TERMS = 12;
const KEPT_TERMS = [6, 2]; // how many first and last terms of a long sum are shown
const MOST_EXTRA = 17;
const EXACT = new Set(["abs", "max", "ratio", "over", "mask", "step", "allowed"]);

// alphabets ------------------------------------------------------------------------------------

const LEVELS = /** @type {Record<string, number>} */ ({ "+": 1, "-": 1, "*": 2, "/": 2, "^": 4 });
const [SUM, PRODUCT, POWER, ATOM] = [1, 2, 4, 5];
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LONG = 7; // terms above a fraction line; a longer sum must be able to break
const WIDE = 14; // nodes above a fraction line
const BROAD = 48; // digits above a fraction line

/**
 * How an alphabet writes a number, a constant, the dots, a call and an operator; the last two give
 * the text and how strongly it binds.
 * @typedef {object} Alphabet
 * @property {string} dots
 * @property {(f: import("./digits.mjs").Figure) => string} figure
 * @property {string} pi
 * @property {(name: string, args: Node[]) => [string, number]} call
 * @property {(node: Node & {kind: "binary"}) => [string, number]} binary
 */

/**
 * Write a tree of figures on one line.
 * @param {Alphabet} own
 * @param {Node} node
 * @param {number} [level] brackets are written around what binds less
 * @param {boolean} [first] whether it begins the line
 * @returns {string}
 */
export function written(own, node, level = 0, first = true) {
  const [text, binds] = form(own, node);
  const negative = node.kind === "figure" && node.figure.digits.startsWith("-");
  if (negative && !(first && level <= SUM)) return `(${text})`;
  return binds < level ? `(${text})` : text;
}

/**
 * @param {Alphabet} own
 * @param {Node} node
 * @returns {[string, number]}
 */
function form(own, node) {
  switch (node.kind) {
    case "figure":
      return [own.figure(node.figure), node.figure.exponent === null ? ATOM : PRODUCT];
    case "number":
      return [node.symbol === "pi" ? own.pi : own.figure(constant(node.value)), ATOM];
    case "dots":
      return [own.dots, ATOM];
    case "fold": {
      if (node.op !== "+") return own.call(node.op, node.terms);
      const terms = node.terms.map((t, i) => written(own, t, SUM, i === 0));
      return [terms.join(" + "), node.terms.length > 1 ? SUM : form(own, node.terms[0])[1]];
    }
    case "call":
      if (node.name !== "ratio" && node.name !== "over") return own.call(node.name, node.args);
      return own.binary({ kind: "binary", op: "/", left: node.args[0], right: node.args[1] });
    case "binary":
      if (node.op === "*" && node.left.kind === "number" && node.left.value === -1) {
        return [`-${written(own, node.right, PRODUCT, false)}`, SUM];
      }
      return own.binary(node);
    default:
      throw new TypeError(node.kind);
  }
}

/** @type {Alphabet} */
export const TEXT = {
  dots: "…",
  pi: "π",
  figure: figureText,
  call(name, args) {
    const inside = args.map((a) => written(TEXT, a)).join(", ");
    if (name === "abs") return [`|${inside}|`, ATOM];
    if (name !== "sqrt") return [`${name}(${inside})`, ATOM];
    const alone = (args[0].kind === "figure" || args[0].kind === "number") && !/^-|×/.test(inside);
    return [alone ? `√${inside}` : `√(${inside})`, ATOM];
  },
  binary({ op, left, right }) {
    const level = LEVELS[op];
    if (op === "^") {
      const power = right.kind === "number" ? figureText(constant(right.value)) : written(TEXT, right, ATOM);
      const raised = /^\d+$/.test(power) ? power.replace(/\d/g, (c) => RAISED[Number(c)]) : `^${power}`;
      return [written(TEXT, left, ATOM, false) + raised, POWER];
    }
    const tight = op === "-" || op === "/" ? level + 1 : level;
    const sign = op === "*" ? "×" : ` ${op} `;
    return [written(TEXT, left, level) + sign + written(TEXT, right, tight, false), level];
  },
};

/** @type {Alphabet} */
export const LATEX = {
  dots: "\\cdots",
  pi: "\\pi",
  figure(f) {
    const digits = f.digits.replace("inf", "\\infty");
    return f.exponent === null ? digits : `${digits} \\times 10^{${f.exponent}}`;
  },
  call(name, args) {
    const inside = args.map((a) => written(LATEX, a)).join(", ");
    const [open, close] = inside.includes("\\frac") ? ["\\left(", "\\right)"] : ["(", ")"];
    switch (name) {
      case "sqrt":
        return [`\\sqrt{${inside}}`, ATOM];
      case "exp":
        return [`e^{${inside}}`, POWER];
      case "abs":
        return [`\\lvert ${inside}\\rvert`, ATOM];
      case "ln":
        return [`\\ln${open}${inside}${close}`, ATOM];
      case "max":
      case "tanh":
        return [`\\${name}(${inside})`, ATOM];
      default:
        return [`\\mathrm{${name}}${open}${inside}${close}`, ATOM];
    }
  },
  binary({ op, left, right }) {
    const level = LEVELS[op];
    if (op === "/") {
      if (fits(left)) return [`\\frac{${written(LATEX, left)}}{${written(LATEX, right)}}`, ATOM];
      return [`(${written(LATEX, left)}) / ${written(LATEX, right, ATOM, false)}`, PRODUCT];
    }
    if (op === "^") {
      const power = right.kind === "number" ? LATEX.figure(constant(right.value)) : written(LATEX, right);
      return [`${written(LATEX, left, ATOM, false)}^{${power}}`, POWER];
    }
    const sign = op === "*" ? " \\times " : ` ${op} `;
    const tight = op === "-" ? level + 1 : level;
    return [written(LATEX, left, level) + sign + written(LATEX, right, tight, false), level];
  },
};

/**
 * Tell whether a numerator is short enough for a fraction line.
 * @param {Node} above
 */
function fits(above) {
  const nodes = [...all(above)];
  const digits = nodes.reduce((n, e) => n + (e.kind === "figure" ? e.figure.digits.length : 0), 0);
  const many = above.kind === "fold" && above.terms.length > LONG;
  return !(many || nodes.length > WIDE || digits > BROAD);
}

/**
 * @param {Node} node
 * @returns {Generator<Node>}
 */
function* all(node) {
  yield node;
  for (const part of parts(node)) yield* all(part);
}

// worked lines ---------------------------------------------------------------------------------

/**
 * @typedef {object} Worked
 * @property {Node | null} middle the arithmetic; null if no digits make it come out
 * @property {string} relation "=" or "≈" before it
 * @property {string} equals "=" or "≈" after it
 */

/**
 * Write the arithmetic of a cell with as many digits as make it come out as printed.
 * @param {Node} tree
 * @param {(leaf: Node) => number} number the value of an entry
 * @param {(leaf: Node, extra: number) => import("./digits.mjs").Figure} show
 * @param {import("./digits.mjs").Figure} result
 * @returns {Worked}
 */
export function worked(tree, number, show, result) {
  const short = shortened(tree);
  if (short !== tree) {
    const [middle, exact] = shown(short, number, show, 0);
    return { middle, relation: exact ? "=" : "≈", equals: "≈" };
  }
  const nothing = () => 0;
  const goal = valueOf(result);
  for (let extra = 0; extra < MOST_EXTRA; extra += 1) {
    const [middle, exact] = shown(tree, number, show, extra);
    const value = valueOfTree(middle, nothing);
    if (value === goal || roundsTo(value, result)) {
      const size = Math.max(magnitude(middle, nothing), Math.abs(goal));
      const same = rational(middle) && Math.abs(value - goal) <= 1e-14 * size;
      const equal = same || goal === -Infinity;
      return { middle, relation: exact ? "=" : "≈", equals: equal ? "=" : "≈" };
    }
  }
  return { middle: null, relation: "=", equals: "=" };
}

/**
 * Tell whether a tree of figures has an exact value: no function but of a number where it is plain.
 * @param {Node} node
 * @returns {boolean}
 */
function rational(node) {
  if (node.kind === "call" && !EXACT.has(node.name)) {
    const x = valueOfTree(node.args[0], () => 0);
    if (node.name !== "sqrt") return x === (node.name === "ln" ? 1 : 0);
    const root = Number(Math.sqrt(x).toPrecision(10));
    return Math.abs(root * root - x) <= 1e-15 * x && rational(node.args[0]);
  }
  if (node.kind === "binary" && (node.op === "/" || node.op === "*")) {
    if (valueOfTree(node.left, () => 0) === 0) return true;
  }
  return parts(node).every(rational);
}

/**
 * Write figures in place of entries, and tell whether all of them are exact.
 * @param {Node} tree
 * @param {(leaf: Node) => number} number
 * @param {(leaf: Node, extra: number) => import("./digits.mjs").Figure} show
 * @param {number} extra
 * @returns {[Node, boolean]}
 */
function shown(tree, number, show, extra) {
  let exact = true;
  const middle = replaced(tree, (leaf) => {
    if (leaf.kind !== "entry") return leaf;
    const own = show(leaf, extra);
    const x = number(leaf);
    if (Number.isFinite(x) && valueOf(own) !== valueOf(figure(x, placesNeeded(x), 13))) exact = false;
    return { kind: "figure", figure: own };
  });
  return [middle, exact];
}

/**
 * Leave out the middle terms of long sums.
 * @param {Node} tree
 * @returns {Node}
 */
function shortened(tree) {
  if (tree.kind === "fold" && tree.terms.length > MOST_TERMS) {
    const [head, tail] = KEPT_TERMS;
    return { ...tree, terms: [...tree.terms.slice(0, head), { kind: "dots" }, ...tree.terms.slice(-tail)] };
  }
  if (tree.kind === "binary") {
    const left = shortened(tree.left);
    return left === tree.left ? tree : { ...tree, left };
  }
  return tree;
}

/**
 * Choose the digits of an entry in a line, with more digits if needed.
 * @param {number} x
 * @param {number} places decimals of its column
 * @param {number} digits
 * @param {number} extra
 * @param {number} noise
 */
export function operandFigure(x, places, digits, extra, noise) {
  if (!Number.isFinite(x)) return figure(x, 0, digits);
  const own = extra ? 0 : noise;
  const needed = Math.abs(x) <= own ? 0 : placesNeeded(x, digits + extra >= 14);
  return figure(x, Math.min(places + extra, needed), digits + extra, own);
}
