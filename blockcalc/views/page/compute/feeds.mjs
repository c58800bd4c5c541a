// @ts-check
/** The cells that use a cell: the patterns of the later steps, solved for a position. */

/**
 * A direction in which the position of an entry grows; axis is that of the result, or -1 in a sum.
 * @typedef {{stride: number, size: number, axis: number}} Way
 */

/**
 * Give the cells of a step that use an entry of an operand, by their positions.
 * @param {import("./evaluate.mjs").Step} step
 * @param {number} operand
 * @param {number} flat the position of the entry
 * @returns {number[]}
 */
export function users(step, operand, flat) {
  if (!step.cells) return [];
  const { axis, forms } = step.cells;
  /** @type {Set<number>} */
  const found = new Set();
  forms.forEach((form, index) => {
    for (const [entry, sizes] of reads(form, [])) {
      const [, own, base, strides, steps] = entry;
      if (own !== operand) continue;
      /** @type {Way[]} */
      const ways = step.shape.map((size, i) => ({ stride: strides[i], size, axis: i }));
      sizes.forEach((size, i) => ways.push({ stride: steps[i], size, axis: -1 }));
      const at = step.shape.map(() => 0);
      if (axis !== null) at[axis] = index;
      const open = ways.filter((way) => way.axis < 0 || way.axis !== axis);
      for (const place of solved(open, flat - base, at)) found.add(flatOf(step.shape, place));
    }
  });
  return [...found].sort((a, b) => a - b);
}

/**
 * Give the entries in a pattern, each with the sizes of the sum around it.
 * @param {any[]} p
 * @param {number[]} sizes
 * @returns {Generator<[any[], number[]]>}
 */
function* reads(p, sizes) {
  if (p[0] === "c") yield [p, sizes];
  else if (p[0] === "s") for (const [own, body] of p.slice(2)) yield* reads(body, own);
  else for (const part of p) if (Array.isArray(part)) yield* reads(part, sizes);
}

/**
 * Find the indices whose strides add up to a distance.
 * @param {Way[]} ways
 * @param {number} distance
 * @param {number[]} at the indices that are fixed already
 * @returns {Generator<number[]>}
 */
function* solved(ways, distance, at) {
  const sorted = ways
    .filter((way) => way.size > 1)
    .sort((a, b) => Math.abs(b.stride) - Math.abs(a.stride));
  // the least and the largest distance that the ways from each one on can make
  const least = sorted.map((_, k) => sorted.slice(k).reduce((n, w) => n + Math.min(0, w.stride * (w.size - 1)), 0));
  const most = sorted.map((_, k) => sorted.slice(k).reduce((n, w) => n + Math.max(0, w.stride * (w.size - 1)), 0));
  least.push(0);
  most.push(0);

  /** @param {number} k @param {number} rest @param {number[]} place @returns {Generator<number[]>} */
  function* from(k, rest, place) {
    if (rest < least[k] || rest > most[k]) return;
    if (k === sorted.length) {
      yield place;
      return;
    }
    const { stride, size, axis } = sorted[k];
    if (stride === 0 && axis < 0) {
      yield* from(k + 1, rest, place);
      return;
    }
    let [first, last] = [0, size - 1];
    if (stride !== 0) {
      const ends = [(rest - most[k + 1]) / stride, (rest - least[k + 1]) / stride].sort((a, b) => a - b);
      first = Math.max(first, Math.ceil(ends[0]));
      last = Math.min(last, Math.floor(ends[1]));
    }
    for (let i = first; i <= last; i += 1) {
      const next = axis < 0 ? place : place.map((old, j) => (j === axis ? i : old));
      yield* from(k + 1, rest - stride * i, next);
    }
  }
  yield* from(0, distance, at);
}

/** @param {number[]} shape @param {number[]} at */
const flatOf = (shape, at) => shape.reduce((flat, n, i) => flat * n + at[i], 0);
