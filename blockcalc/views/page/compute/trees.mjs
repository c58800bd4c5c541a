// @ts-check
/** The tree of one cell: what it is computed from, its value and its size. */

import { valueOf } from "./digits.mjs";
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
 * Give the calls of functions in a tree.
 * @param {Node} node
 * @returns {Generator<Node & {kind: "call"}>}
 */
export function* calls(node) {
  if (node.kind === "call") yield node;
  for (const part of parts(node)) yield* calls(part);
}

/**
 * Give the parts of a node.
 * @param {Node} node
 * @returns {Node[]}
 */
export function parts(node) {
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
export function replaced(node, leaf) {
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
  if (node.kind === "call" && (node.name === "over" || node.name === "ratio")) {
    const divisor = Math.abs(valueOfTree(node.args[1], leaf));
    return divisor ? magnitude(node.args[0], leaf) / divisor : 0;
  }
  if (node.kind === "binary") {
    const [a, b] = [magnitude(node.left, leaf), magnitude(node.right, leaf)];
    if (node.op === "+" || node.op === "-") return a + b;
    if (node.op === "*") return a * b;
    if (node.op === "/") return a / Math.abs(valueOfTree(node.right, leaf));
  }
  return Math.abs(valueOfTree(node, leaf));
}
