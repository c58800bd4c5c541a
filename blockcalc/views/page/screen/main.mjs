// @ts-check
/** The page: what is chosen, typed and switched, and what is shown of it. */

import { numberOf } from "../marks/answers.mjs";
import { Model } from "../compute/model.mjs";
import { Answers } from "../marks/marking.mjs";
import { readModel, readView, written } from "./address.mjs";
import { neighbour } from "./keys.mjs";
import { Panel } from "./panel.mjs";
import { keyOf, placeOf, Sections } from "./sections.mjs";
import { Switches } from "./settings.mjs";
import { inTurn, Slices } from "./slices.mjs";
import { input, Status } from "./status.mjs";
import { Strip } from "./strip.mjs";

/** @typedef {import("../compute/model.mjs").Place} Place */

const QUIET = 250; // milliseconds without a change before the address is written

class Page {
  /** @param {import("../compute/model.mjs").Data} data */
  constructor(data) {
    const model = new Model(data, true);
    this.model = model;
    this.answers = new Answers(model);
    this.main = /** @type {HTMLElement} */ (document.getElementById("steps"));
    for (const part of document.querySelectorAll("[hidden]")) part.removeAttribute("hidden");
    this.status = new Status(model, this.answers);
    this.panel = new Panel(model, this.answers);
    this.switches = new Switches(model, () => this.remember(), () => this.compute());
    this.strip = new Strip(model, (at) => this.moved(at));
    /** @type {import("./address.mjs").View} */
    this.view = { chosen: null, step: "", hidden: new Set(), heat: false };
    /** @type {string[]} */
    this.past = [];
    this.sections = new Sections(model, this.main);
    this.slices = new Slices(() => this.status.say(data.texts.working));
    /** @type {HTMLElement[]} */
    this.marked = [];
    this.stale = false; // whether a change has not been computed yet
    this.computed = ""; // the changes that the numbers are computed with
    this.slices.run(
      inTurn(
        () => model.beginning(),
        () => this.restoring(location.hash),
      ),
    );
    this.listen();
  }

  // showing ------------------------------------------------------------------------------------

  /** Compute and show everything. @param {string} [changed] the given matrix that alone changed */
  compute(changed) {
    const own = this.stale ? undefined : changed;
    this.stale = true;
    this.slices.run(
      inTurn(
        () => this.model.computing(own),
        () => {
          this.stale = false;
          this.computed = this.status.changes();
          return this.showing();
        },
      ),
    );
  }

  /** Show everything again; numbers that are not computed yet are computed first. */
  show() {
    if (this.stale) this.compute();
    else this.slices.run(this.showing());
  }

  *showing() {
    const { model } = this;
    if (this.sections.variant !== model.variant) {
      this.marked = [];
      yield* this.sections.build();
      this.strip.build();
    }
    const { chosen } = this.view;
    if (chosen && !model.matrices.has(chosen.name)) this.view.chosen = null;
    this.answers.renew();
    this.switches.show();
    this.sections.formulas();
    this.choice();
    yield* this.sections.painting((place) => this.look(place));
    this.status.show(this.view, (name) => this.isHidden(name), this.past.length > 0);
    this.save();
  }

  /**
   * Tell how a cell looks.
   * @param {Place} place
   * @returns {import("./tables.mjs").Look}
   */
  look(place) {
    const { model, view, answers } = this;
    const hidden = this.isHidden(place.name);
    const said = hidden ? answers.get(place) : undefined;
    return {
      instead: hidden && said !== "?" ? (said ?? "?") : null,
      shaded: view.heat || Boolean(model.byName.get(place.name)?.weights),
      verdict: hidden ? answers.judge(place) : "",
    };
  }

  /** Show the chosen cell, what it is computed from, and what uses it. */
  choice() {
    const { model } = this;
    const { cells } = this.sections;
    const { chosen } = this.view;
    for (const cell of this.marked) cell.classList.remove("chosen", "from", "feeds");
    this.marked = [];
    const mark = (/** @type {Place} */ place, /** @type {string} */ name) => {
      const cell = cells.get(keyOf(place));
      if (!cell) return;
      cell.classList.add(name);
      this.marked.push(cell);
    };
    if (chosen) {
      for (const place of model.sources(chosen)) mark(place, "from");
      for (const place of model.uses(chosen)) mark(place, "feeds");
      mark(chosen, "chosen");
      const cell = cells.get(keyOf(chosen));
      for (const other of cell?.closest("table")?.querySelectorAll('td[tabindex="0"]') ?? []) {
        /** @type {HTMLElement} */ (other).tabIndex = -1;
      }
      if (cell) cell.tabIndex = 0;
    }
    for (const old of this.main.querySelectorAll('td[aria-selected="true"]')) old.removeAttribute("aria-selected");
    if (chosen) cells.get(keyOf(chosen))?.setAttribute("aria-selected", "true");
    const hidden = chosen !== null && this.isHidden(chosen.name) && this.answers.get(chosen) !== "?";
    this.panel.show(chosen, hidden);
  }

  /** Tell whether the results of a step are hidden. @param {string} name */
  isHidden(name) {
    const { hidden } = this.view;
    return this.model.byName.has(name) && (hidden.has("*") || hidden.has(name));
  }

  // the address --------------------------------------------------------------------------------

  address() {
    return written(this.model, this.view);
  }

  /** Write the address, once nothing has changed for a while: browsers refuse it too often. */
  save() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => {
      const own = this.address();
      if (location.hash.slice(1) !== own) history.replaceState(null, "", own ? `#${own}` : location.pathname + location.search);
    }, QUIET);
  }

  /** Show what an address says. @param {string} hash @param {boolean} [there] whether to go where it says */
  restore(hash, there = true) {
    this.slices.run(this.restoring(hash, there));
  }

  /** Take back the last change; what is in sight stays, so that its numbers are seen to move. */
  undo() {
    this.restore(this.past.pop() ?? "", false);
  }

  /** @param {string} hash @param {boolean} [there] @returns {Generator<void, void>} */
  *restoring(hash, there = true) {
    readModel(hash, this.model);
    if (this.stale || this.status.changes() !== this.computed) {
      this.stale = true;
      yield* this.model.computing();
      this.computed = this.status.changes();
      this.stale = false;
    }
    this.view = readView(hash, this.model);
    yield* this.showing();
    if (there) this.reveal();
  }

  /** Bring what the address names into sight. */
  reveal() {
    const { chosen, step } = this.view;
    const section = step && document.getElementById(`step-${step}`);
    if (section) section.scrollIntoView({ block: "start" });
    else if (chosen) this.sections.cells.get(keyOf(chosen))?.scrollIntoView({ block: "center" });
    this.strip.look();
  }

  /** Remember the state before a change. */
  remember() {
    this.past.push(this.address());
  }

  // acting -------------------------------------------------------------------------------------

  /** @param {number} at */
  moved(at) {
    this.view.step = this.model.steps[at].name;
    this.save();
  }

  /** @param {Place | null} place */
  choose(place) {
    this.view.chosen = place;
    this.view.step = "";
    this.choice();
    this.save();
  }

  /** Take what was typed for the chosen cell. @param {string} text */
  typed(text) {
    const { model, answers } = this;
    const { chosen } = this.view;
    if (!chosen) return false;
    const guess = model.byName.has(chosen.name);
    if (Number.isNaN(numberOf(text)) && !(guess && ["?", ""].includes(text.trim()))) {
      this.panel.refuse();
      return false;
    }
    const before = guess ? answers.get(chosen) : (model.edits.get(chosen.name)?.get(chosen.at) ?? this.panel.file(chosen));
    if (text.trim() === (before ?? "")) return true; // Enter and leaving the field both tell of a change
    if (guess) {
      answers.put(chosen, text);
      this.show();
    } else {
      this.remember();
      model.edit(chosen, text);
      this.compute(chosen.name);
    }
    return true;
  }

  listen() {
    this.main.addEventListener("click", (event) => this.clicked(/** @type {HTMLElement} */ (event.target)));
    this.main.addEventListener("dblclick", (event) => {
      if (/** @type {HTMLElement} */ (event.target).closest("td.cell")) this.type();
    });
    this.main.addEventListener("keydown", (event) => this.key(event));
    const { box } = this.panel;
    box.addEventListener("change", (event) => {
      const target = /** @type {HTMLInputElement} */ (event.target);
      if (target.id === "typed") this.typed(target.value);
    });
    box.addEventListener("keydown", (event) => {
      const { chosen } = this.view;
      const target = /** @type {HTMLInputElement} */ (event.target);
      if (!chosen || target.id !== "typed" || (event.key !== "Escape" && event.key !== "Enter")) return;
      event.preventDefault();
      if (event.key === "Escape") this.choice();
      else if (!this.typed(target.value)) return;
      this.sections.cells.get(keyOf(chosen))?.focus();
    });
    box.addEventListener("click", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      const { go, copy } = target.dataset;
      if (copy !== undefined) this.status.copy(copy, /** @type {HTMLElement} */ (box.querySelector(".copies output")));
      if (go) (document.getElementById(`step-${go}`) ?? document.getElementById("given"))?.scrollIntoView();
      if (target.id === "close") this.choose(null);
      if (target.id === "take-back") this.undo();
    });
    this.on("undo", () => this.undo());
    this.on("reset", () => {
      this.remember();
      this.restore("", false);
    });
    this.on("link", () => this.status.copy(`${location.href.split("#")[0]}#${this.address()}`, null));
    this.on("heat", () => {
      this.view.heat = input("heat").checked;
      this.show();
    });
    this.on("hide", () => {
      this.view.hidden = new Set(input("hide").checked ? ["*"] : []);
      this.show();
    });
    addEventListener("hashchange", () => this.restore(location.hash));
    addEventListener("beforeprint", () => this.sections.lines((name) => (this.isHidden(name) ? "" : this.panel.printed(name, this.view.chosen))));
  }

  /** @param {string} id @param {() => void} act */
  on(id, act) {
    input(id).addEventListener("click", act);
  }

  /** @param {HTMLElement} target */
  clicked(target) {
    const cell = /** @type {HTMLElement | null} */ (target.closest("td.cell"));
    if (cell) this.choose(placeOf(cell));
    const { hide, name } = target.dataset;
    if (hide !== undefined) this.toggle(hide);
    if (name !== undefined && target.classList.contains("whole")) {
      const section = /** @type {HTMLElement} */ (target.closest("section.step, .named"));
      this.slices.run(
        inTurn(
          () => this.sections.whole(name, section),
          () => this.showing(),
        ),
      );
    }
  }

  /** Hide the results of one step, or show them. @param {string} name */
  toggle(name) {
    const { view, model } = this;
    if (view.hidden.has("*")) view.hidden = new Set(model.steps.map((step) => step.name));
    if (!view.hidden.delete(name)) view.hidden.add(name);
    this.show();
  }

  /** Put the cursor into the field of the chosen cell. @param {string} [text] what was typed already */
  type(text) {
    const field = /** @type {HTMLInputElement | null} */ (this.panel.box.querySelector("#typed"));
    if (!field) return false;
    field.focus();
    if (text === undefined) field.select();
    else field.value = text;
    return true;
  }

  /** Move between the cells of a table, and begin to type. @param {KeyboardEvent} event */
  key(event) {
    const cell = /** @type {HTMLElement} */ (event.target);
    if (!cell.classList.contains("cell") || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = neighbour(cell, event.key);
    if (next !== undefined) {
      event.preventDefault();
      if (next) {
        this.choose(placeOf(next));
        next.focus();
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(placeOf(cell));
      this.type();
    } else if (event.key === "Escape") this.choose(null);
    else if (/^[-+.\d?]$/.test(event.key)) {
      this.choose(placeOf(cell));
      if (this.type(event.key)) event.preventDefault();
    }
  }
}

const carried = /** @type {HTMLElement} */ (document.getElementById("data"));
export const page = new Page(JSON.parse(carried.textContent ?? ""));
