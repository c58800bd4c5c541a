// @ts-check
/** What is said of the page as a whole: what was changed, how much follows, and the score. */

import { indexOf } from "../compute/patterns.mjs";
import { written } from "./address.mjs";

/** @param {string} id */
export function input(id) {
  return /** @type {HTMLInputElement} */ (document.getElementById(id));
}

export class Status {
  /**
   * @param {import("../compute/model.mjs").Model} model
   * @param {import("../marks/marking.mjs").Answers} answers
   */
  constructor(model, answers) {
    this.model = model;
    this.answers = answers;
  }

  /** Write what differs from the file, as in an address. */
  changes() {
    return written(this.model, { chosen: null, step: "", hidden: new Set(), heat: false });
  }

  /** Name the given numbers that were changed. */
  edits() {
    const { edits, data } = this.model;
    return [...edits].flatMap(([name, own]) => {
      const { symbol, shape } = data.given[name];
      const place = (/** @type {number} */ at) => indexOf(shape, at).map((i) => i + 1).join(",");
      return [...own].map(([at, text]) => `${symbol}[${place(at)}] = ${text}`);
    });
  }

  /**
   * Show the state of the page.
   * @param {import("./address.mjs").View} view
   * @param {(name: string) => boolean} isHidden
   * @param {boolean} undoable
   */
  show(view, isHidden, undoable) {
    const { model } = this;
    const { texts } = model.data;
    const { eps, scale, activation } = model.settings;
    const { right, n } = this.answers.score();
    const edits = this.edits();
    const changed = document.querySelectorAll("section.step td.changed").length;
    const parts = [];
    if (edits.length) parts.push(texts.edits.replace("{what}", edits.join(", ")));
    if (changed) parts.push(texts.changed.replace("{n}", String(changed)));
    if (model.broken) parts.push(texts.undefined);
    if (n) parts.push(texts.score.replace("{right}", String(right)).replace("{n}", String(n)));
    this.say(parts.join(" · "));
    document.body.classList.toggle("edited", Boolean(edits.length || eps || scale || activation));
    for (const own of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("button.hide"))) {
      const hidden = isHidden(own.dataset.hide ?? "");
      own.setAttribute("aria-pressed", String(hidden));
      own.textContent = hidden ? texts["show.one"] : texts["hide.one"];
    }
    input("heat").checked = view.heat;
    input("hide").checked = view.hidden.has("*");
    input("undo").disabled = !undoable;
    input("reset").disabled = this.changes() === "";
  }

  /** @param {string} text */
  say(text) {
    const own = /** @type {HTMLElement} */ (document.getElementById("status"));
    if (own.textContent !== text) own.textContent = text;
  }

  /**
   * Copy a text; where that is not allowed, it is shown to be copied by hand.
   * @param {string} text
   * @param {HTMLElement | null} said where the result is told; null for the status line
   */
  copy(text, said) {
    const tell = (/** @type {string} */ what) => {
      if (said) said.textContent = what;
      else this.say(what);
    };
    if (!navigator.clipboard) tell(text);
    else navigator.clipboard.writeText(text).then(() => tell(this.model.data.texts.copied), () => tell(text));
  }
}
