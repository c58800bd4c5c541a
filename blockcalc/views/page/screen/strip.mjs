// @ts-check
/** The strip at the top: the flow of the data, the step in sight, and ways to the next one. */

import { button, element } from "./tables.mjs";

const BELOW = 28; // a step this far below the strip counts as reached, in pixels

export class Strip {
  /**
   * @param {import("../compute/model.mjs").Model} model
   * @param {(n: number) => void} moved is told of each step that a person goes to
   */
  constructor(model, moved) {
    this.model = model;
    this.moved = moved;
    this.at = 0;
    this.box = /** @type {HTMLElement} */ (document.getElementById("strip"));
    this.flow = /** @type {HTMLElement} */ (document.getElementById("flow"));
    this.slider = /** @type {HTMLInputElement} */ (document.getElementById("slider"));
    this.where = /** @type {HTMLElement} */ (document.getElementById("where"));
    this.listen();
  }

  listen() {
    const on = (/** @type {string} */ id, /** @type {() => void} */ act) =>
      document.getElementById(id)?.addEventListener("click", act);
    on("before", () => this.go(this.at - 1));
    on("after", () => this.go(this.at + 1));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value) - 1));
    this.flow.addEventListener("click", (event) => {
      const at = /** @type {HTMLElement} */ (event.target).dataset.at;
      if (at !== undefined) this.go(Number(at));
    });
    document.addEventListener("keydown", (event) => {
      const free = event.target === document.body || event.target === document.documentElement;
      if (!free || event.altKey || event.ctrlKey || event.metaKey) return;
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) this.go(this.at + by);
    });
    addEventListener("scroll", () => this.look(), { passive: true });
  }

  /** Write the flow of the form in use. */
  build() {
    const { variant, steps } = this.model;
    this.flow.replaceChildren(
      ...variant.headings.map((h) => element("li", {}, button(h.name, { "data-at": String(h.at) }))),
    );
    this.slider.max = String(steps.length);
    this.sections = [...document.querySelectorAll("section.step")];
    this.show(0);
  }

  /** Go to a step. @param {number} n */
  go(n) {
    const at = Math.min(Math.max(n, 0), this.model.steps.length - 1);
    this.sections?.[at]?.scrollIntoView({ block: "start" });
    this.show(at);
    this.moved(at);
  }

  /** Find which step is at the top of the window. */
  look() {
    const edge = this.box.getBoundingClientRect().bottom + BELOW;
    const { sections = [] } = this;
    // the sections stand in order, so the last one above the edge is found by halving
    let [low, high] = [0, sections.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (sections[mid].getBoundingClientRect().top <= edge) low = mid + 1;
      else high = mid;
    }
    const bottom = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const pinned = sections[this.at]?.getBoundingClientRect();
    // at the end of the page a step cannot come to the top, though a person went to it
    if (bottom && pinned && pinned.top >= edge - 2 * BELOW && pinned.top < innerHeight) return;
    let first = Math.max(0, low - 1);
    const line = sections[first]?.getBoundingClientRect().top;
    if (pinned && Math.abs(pinned.top - line) < 1) return; // small steps share a line
    while (first > 0 && sections[first - 1].getBoundingClientRect().top === line) first--;
    this.show(first);
  }

  /** @param {number} at */
  show(at) {
    const { variant, steps } = this.model;
    this.at = at;
    this.slider.value = String(at + 1);
    this.slider.setAttribute("aria-valuetext", `${at + 1} ${steps[at].title}`);
    this.where.textContent = `${at + 1}/${steps.length} ${steps[at].title}`;
    let current = -1;
    variant.headings.forEach((heading, i) => {
      if (heading.at <= at) current = i;
    });
    [...this.flow.children].forEach((item, i) => {
      const link = /** @type {HTMLElement} */ (item.firstElementChild);
      if (i === current) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    });
    const own = /** @type {HTMLElement | undefined} */ (this.flow.children[current]);
    if (own) this.flow.scrollLeft = own.offsetLeft - this.flow.offsetLeft - 24;
  }
}
