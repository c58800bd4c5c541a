// @ts-check
/** The marks for a person's answers, and what follows from an answer that is wrong. */

import { agrees, halfUnit, numberOf, rangeOf } from "./answers.mjs";
import { roundedTo } from "../compute/digits.mjs";

/** @typedef {import("./answers.mjs").Range} Range */
/** @typedef {import("../compute/model.mjs").Model} Model */
/** @typedef {import("../compute/model.mjs").Place} Place */

/** What the cells of a block may be, computed from a person's own numbers. */
export class Carried {
  /**
   * @param {Model} model
   * @param {Map<string, Map<number, string>>} answers
   */
  constructor(model, answers) {
    this.model = model;
    this.answers = answers;
    /** @type {Map<string, Range>} */
    this.known = new Map();
    /** @type {Set<string>} */
    this.after = new Set(); // steps that depend on an answer
    for (const step of model.steps) {
      if (step.inputs.some((name) => answers.has(name) || this.after.has(name))) this.after.add(step.name);
    }
  }

  /**
   * Give the range of a cell, as computed from the answers before it.
   * @param {string} name
   * @param {number} at
   * @returns {Range}
   */
  of(name, at) {
    const key = `${name} ${at}`;
    let own = this.known.get(key);
    if (own === undefined) {
      own = this.computed(name, at);
      this.known.set(key, own);
    }
    return own;
  }

  /**
   * @param {string} name
   * @param {number} at
   * @returns {Range}
   */
  computed(name, at) {
    const { model } = this;
    const step = model.byName.get(name);
    if (!step || !step.cells || !this.after.has(name)) {
      const value = model.values[name][at];
      return [value, value];
    }
    const own = rangeOf(model.tree(step, at), (leaf) =>
      leaf.kind === "entry" ? this.taken(step.inputs[leaf.operand], leaf.at) : [NaN, NaN],
    );
    const { rounding } = model.data;
    if (!rounding) return own;
    const [low, high] = own.map((x) => roundedTo(x, ...rounding));
    return [low, high];
  }

  /**
   * Give the range of an operand: of the answer, if there is one.
   * @param {string} name
   * @param {number} at
   * @returns {Range}
   */
  taken(name, at) {
    const said = this.answers.get(name)?.get(at);
    const typed = said === undefined ? NaN : numberOf(said);
    if (said === undefined || Number.isNaN(typed)) return this.of(name, at);
    const half = halfUnit(said);
    return [typed - half, typed + half];
  }
}

/** What a person answers, and what is said of it. */
export class Answers {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {Map<string, Map<number, string>>} */
    this.said = new Map();
    this.carried = new Carried(model, this.said);
  }

  /** Forget what followed from the numbers before. */
  renew() {
    this.carried = new Carried(this.model, this.said);
  }

  /** @param {Place} place @returns {string | undefined} */
  get({ name, at }) {
    return this.said.get(name)?.get(at);
  }

  /** @param {Place} place @param {string} text empty to take it back */
  put({ name, at }, text) {
    const own = this.said.get(name) ?? new Map();
    if (text) own.set(at, text.trim());
    else own.delete(at);
    if (own.size) this.said.set(name, own);
    else this.said.delete(name);
    this.renew();
  }

  /**
   * Judge an answer: right, right from the person's own numbers before it, or wrong.
   * @param {Place} place
   * @returns {"" | "right" | "carried" | "wrong"}
   */
  judge({ name, at }) {
    const text = this.get({ name, at });
    const own = this.model.values[name]?.[at];
    if (text === undefined || Number.isNaN(numberOf(text)) || own === undefined) return "";
    if (agrees(text, [own, own])) return "right";
    return this.carried.after.has(name) && agrees(text, this.carried.of(name, at)) ? "carried" : "wrong";
  }

  /** Count the answers, and those that are right. */
  score() {
    let [right, n] = [0, 0];
    for (const [name, own] of this.said) {
      for (const at of own.keys()) {
        const verdict = this.judge({ name, at });
        n += Number(verdict !== "");
        right += Number(verdict === "right" || verdict === "carried");
      }
    }
    return { right, n };
  }
}
