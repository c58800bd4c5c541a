// @ts-check
/** The tree of one cell: what it is computed from, and its arithmetic as text. */

import { constant, figure, figureText, placesNeeded, roundsTo, valueOf } from "./digits.mjs";
import { FUNCTIONS, OPERATORS } from "./functions.mjs";

/**
 * A node of a cell: a number, an entry of an operand, an operator, a function, or a sum.
 * @typedef {{kind: "number", value: number, symbol?: string}
 *   | {kind: "entry", operand: number, at: number}
 *   | {kind: "binary", op: string, left: Node, right: Node}
 *   | {kind: "call", name: string, args: Node[]}
 *   | {kind: "fold", op: string, terms: Node[]}
 *   | {kind: "figure", figure: import("./digits.mjs").Figure}
 *   | {kind: "dots"}} Node
 */

const MOST_TERMS = 12;
const KEPT_TERMS = [6, 2]; // how many first and last terms of a long sum are shown
const MOST_EXTRA = 13;
const EXACT = new Set(["abs", "max", "ratio", "over", "mask", "step", "allowed"]);

/**
 * Give the pattern of a cell.
 * @param {import("./evaluate.mjs").Step} step
 * @param {number[]} at
 */
export function patternOf(step, at) {
  const { axis, forms } = /** @type {import("./evaluate.mjs").Patterns} */ (step.cells);
  return forms[axis === null ? 0 : at[axis]];
}

/**
 * Write out the tree of a cell.
 * @param {any[]} p its pattern
 * @param {number[]} at
 * @param {number[]} [inner]
 * @returns {Node}
 */
export function treeOf(p, at, inner = []) {
  switch (p[0]) {
    case "n":
      return { kind: "number", value: p[1], symbol: p[2] };
    case "c": {
      const [, operand, base, strides, steps] = p;
      const place = base + sum(strides, at) + sum(steps, inner);
      return { kind: "entry", operand, at: place };
    }
    case "b":
      return { kind: "binary", op: p[1], left: treeOf(p[2], at, inner), right: treeOf(p[3], at, inner) };
    case "f":
      return { kind: "call", name: p[1], args: p.slice(2).map((part) => treeOf(part, at, inner)) };
    default: {
      /** @type {Node[]} */
      const terms = [];
      for (const [sizes, body] of p.slice(2)) {
        for (const index of indices(sizes)) terms.push(treeOf(body, at, index));
      }
      return { kind: "fold", op: p[1], terms };
    }
  }
}

/** @param {number[]} a @param {number[]} b */
const sum = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);

/**
 * Give every index of an array of some sizes, the last running fastest.
 * @param {number[]} sizes
 * @returns {Generator<number[]>}
 */
export function* indices(sizes) {
  const at = sizes.map(() => 0);
  for (;;) {
    yield [...at];
    let k = sizes.length - 1;
    while (k >= 0 && at[k] === sizes[k] - 1) at[k--] = 0;
    if (k < 0) return;
    at[k] += 1;
  }
}

/**
 * Give the entries that a tree reads.
 * @param {Node} node
 * @returns {Generator<{operand: number, at: number}>}
 */
export function* entries(node) {
  if (node.kind === "entry") yield node;
  else for (const part of parts(node)) yield* entries(part);
}

/**
 * @param {Node} node
 * @returns {Node[]}
 */
function parts(node) {
  if (node.kind === "binary") return [node.left, node.right];
  if (node.kind === "call") return node.args;
  return node.kind === "fold" ? node.terms : [];
}

/**
 * Replace the leaves of a tree.
 * @param {Node} node
 * @param {(leaf: Node) => Node} leaf
 * @returns {Node}
 */
function replaced(node, leaf) {
  if (node.kind === "binary") {
    return { ...node, left: replaced(node.left, leaf), right: replaced(node.right, leaf) };
  }
  if (node.kind === "call") return { ...node, args: node.args.map((a) => replaced(a, leaf)) };
  if (node.kind === "fold") return { ...node, terms: node.terms.map((t) => replaced(t, leaf)) };
  return leaf(node);
}

/**
 * Compute a tree.
 * @param {Node} node
 * @param {(leaf: Node) => number} leaf gives entries of operands
 * @returns {number}
 */
export function valueOfTree(node, leaf) {
  switch (node.kind) {
    case "number":
      return node.value;
    case "figure":
      return valueOf(node.figure);
    case "binary":
      return OPERATORS[node.op](valueOfTree(node.left, leaf), valueOfTree(node.right, leaf));
    case "call":
      return FUNCTIONS[node.name](...node.args.map((a) => valueOfTree(a, leaf)));
    case "fold": {
      const values = node.terms.map((t) => valueOfTree(t, leaf));
      return node.op === "max" ? Math.max(...values) : values.reduce((a, b) => a + b, 0);
    }
    default:
      return leaf(node);
  }
}

/**
 * Bound the size of what is added up in a cell: round-off is relative to it.
 * @param {Node} node
 * @param {(leaf: Node) => number} leaf
 * @returns {number}
 */
export function magnitude(node, leaf) {
  if (node.kind === "fold" && node.op === "+") {
    return node.terms.reduce((total, t) => total + magnitude(t, leaf), 0);
  }
  if (node.kind === "binary") {
    const [a, b] = [magnitude(node.left, leaf), magnitude(node.right, leaf)];
    if (node.op === "+" || node.op === "-") return a + b;
    if (node.op === "*") return a * b;
    if (node.op === "/") return a / Math.abs(valueOfTree(node.right, leaf));
  }
  return Math.abs(valueOfTree(node, leaf));
}

// text -----------------------------------------------------------------------------------------

const LEVELS = /** @type {Record<string, number>} */ ({ "+": 1, "-": 1, "*": 2, "/": 2, "^": 4 });
const ATOM = 5;
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/**
 * Write a tree of figures on one line.
 * @param {Node} node
 * @param {number} [level] brackets are written around what binds less
 * @param {boolean} [first] whether it begins the line
 * @returns {string}
 */
export function text(node, level = 0, first = true) {
  const [own, binds] = form(node);
  const negative = node.kind === "figure" && node.figure.digits.startsWith("-");
  if (negative && !(first && level <= 1)) return `(${own})`;
  return binds < level ? `(${own})` : own;
}

/**
 * @param {Node} node
 * @returns {[string, number]}
 */
function form(node) {
  switch (node.kind) {
    case "figure":
      return [figureText(node.figure), node.figure.exponent === null ? ATOM : 2];
    case "number":
      return [node.symbol === "pi" ? "π" : figureText(constant(node.value)), ATOM];
    case "dots":
      return ["…", ATOM];
    case "fold":
      if (node.op === "+") {
        const terms = node.terms.map((t, i) => text(t, 1, i === 0));
        return [terms.join(" + "), node.terms.length > 1 ? 1 : form(node.terms[0])[1]];
      }
      return [`${node.op}(${node.terms.map((t) => text(t)).join(", ")})`, ATOM];
    case "call":
      return called(node.name, node.args);
    case "binary":
      return operated(node);
    default:
      throw new TypeError(node.kind);
  }
}

/**
 * @param {string} name
 * @param {Node[]} args
 * @returns {[string, number]}
 */
function called(name, args) {
  if (name === "ratio" || name === "over") {
    return operated({ kind: "binary", op: "/", left: args[0], right: args[1] });
  }
  const inside = args.map((a) => text(a)).join(", ");
  if (name === "abs") return [`|${inside}|`, ATOM];
  if (name === "sqrt") {
    const alone = (args[0].kind === "figure" || args[0].kind === "number") && !/[-×]/.test(inside);
    return [alone ? `√${inside}` : `√(${inside})`, ATOM];
  }
  return [`${name}(${inside})`, ATOM];
}

/**
 * @param {{kind: "binary", op: string, left: Node, right: Node}} node
 * @returns {[string, number]}
 */
function operated({ op, left, right }) {
  const level = LEVELS[op];
  if (op === "*" && left.kind === "number" && left.value === -1) return [`-${text(right, 2, false)}`, 1];
  if (op === "^" && right.kind === "number") {
    const power = figureText(constant(right.value));
    const raised = /^\d+$/.test(power) ? power.replace(/\d/g, (c) => RAISED[Number(c)]) : `^${power}`;
    return [text(left, ATOM, false) + raised, 4];
  }
  const sign = op === "*" ? "×" : ` ${op} `;
  const tight = op === "-" || op === "/" ? level + 1 : level;
  return [text(left, level) + sign + text(right, tight, false), level];
}

// worked lines ---------------------------------------------------------------------------------

/**
 * @typedef {object} Worked
 * @property {string} middle the arithmetic, or "" if no digits make it come out
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
    return { middle: text(middle), relation: exact ? "=" : "≈", equals: "≈" };
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
      return { middle: text(middle), relation: exact ? "=" : "≈", equals: equal ? "=" : "≈" };
    }
  }
  return { middle: "", relation: "=", equals: "=" };
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
