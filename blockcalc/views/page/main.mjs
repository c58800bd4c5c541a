// @ts-check
/** The page: what is chosen, typed and switched, and what is shown of it. */

import { read, written } from "./address.mjs";
import { figureText } from "./digits.mjs";
import { Model, numberOf } from "./model.mjs";
import { element, fill, tables } from "./tables.mjs";

/** @typedef {{name: string, at: number}} Chosen */

class Page {
  /** @param {import("./model.mjs").Data} data */
  constructor(data) {
    this.model = new Model(data);
    this.texts = data.texts;
    /** @type {Chosen | null} */
    this.chosen = null;
    this.hiding = false;
    this.heat = false;
    /** @type {Set<string>} */
    this.wholes = new Set();
    /** @type {string[]} */
    this.past = [];
    this.main = /** @type {HTMLElement} */ (document.getElementById("steps"));
    this.panel = /** @type {HTMLElement} */ (document.getElementById("cell"));
    this.strip = /** @type {HTMLElement} */ (document.getElementById("strip"));
    this.controls();
    this.restore();
    this.listen();
  }

  // building -----------------------------------------------------------------------------------

  /** Show the switches and the strip, which are of no use without a script. */
  controls() {
    for (const part of document.querySelectorAll("[hidden]")) part.removeAttribute("hidden");
    const { variants, activations } = this.model.data;
    const orders = [...new Map(variants.map((v) => [v.order, v.orderText]))];
    this.options("order", orders);
    this.options("mask", [...new Set(variants.map((v) => v.mask))].map((m) => [m, this.texts[`mask.${m}`]]));
    const names = Object.entries(activations).map(([name, own]) => [name, own.text]);
    this.options("activation", [["", this.texts.file], ...names]);
    const has = (/** @type {(s: import("./model.mjs").Shown) => unknown} */ test) => this.model.steps.some(test);
    this.field("mask").disabled = new Set(variants.map((v) => v.mask)).size < 2;
    this.field("activation").disabled = !has((s) => s.activation);
    this.field("scale").disabled = !has((s) => s.part === "scaled");
    this.field("eps").disabled = !has((s) => s.norm);
  }

  /** @param {string} id @returns {HTMLSelectElement & HTMLInputElement} */
  field(id) {
    return /** @type {any} */ (document.getElementById(`set-${id}`));
  }

  /** @param {string} id @param {string[][]} pairs */
  options(id, pairs) {
    this.field(id).replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
  }

  /** Build the sections of the form in use, with empty tables. */
  build() {
    const { variant, matrices } = this.model;
    const given = element("section", { class: "given", id: "given" });
    given.append(element("h2", {}, this.texts.given));
    const row = element("div", { class: "row" });
    for (const name of variant.given) row.append(this.matrixOf(/** @type {any} */ (matrices.get(name))));
    given.append(row);
    const parts = [given];
    this.model.steps.forEach((step, i) => {
      for (const heading of variant.headings.filter((h) => h.at === i)) {
        parts.push(element("div", { class: "heading" }, element("h2", {}, heading.title)));
        if (heading.prose) parts[parts.length - 1].append(element("p", {}, heading.prose));
      }
      parts.push(this.section(step));
    });
    this.main.replaceChildren(...parts);
    this.built = variant;
    const slider = /** @type {HTMLInputElement} */ (document.getElementById("slider"));
    slider.max = String(this.model.steps.length);
    slider.value = "1";
  }

  /** @param {import("./model.mjs").Matrix} matrix */
  matrixOf(matrix) {
    const code = element("code", {}, matrix.name);
    return element("div", { class: "named" }, code, ...tables(this.model, matrix, this.wholes.has(matrix.name)));
  }

  /** @param {import("./model.mjs").Shown} step */
  section(step) {
    const number = element("span", { class: "number" }, String(step.number));
    const head = element("h3", {}, number, ` ${step.title} `, element("code", {}, step.name));
    const formula = element("div", { class: "formula" });
    // the formula is made by the program that wrote the page, with every name escaped
    formula.append(document.createRange().createContextualFragment(step.math));
    const row = element("div", { class: "row" }, ...tables(this.model, step, this.wholes.has(step.name)));
    return element("section", { class: "step", id: `step-${step.name}`, "data-step": step.name }, head, formula, row);
  }

  // showing ------------------------------------------------------------------------------------

  /** Show the state: numbers, marks, the chosen cell and the address. */
  show() {
    if (this.built !== this.model.variant) this.build();
    /** @type {NodeListOf<HTMLElement>} */
    const cells = this.main.querySelectorAll("td.cell");
    fill(
      this.model,
      cells,
      (name) => this.heat || Boolean(this.model.byName.get(name)?.weights),
      (name, at) => this.instead(name, at),
    );
    this.marks(cells);
    this.cell();
    this.state();
    history.replaceState(null, "", `#${written(this.model, this.chosen, this.hiding)}`);
  }

  /** What stands in a hidden cell: what was typed, or a mark. @param {string} name @param {number} at */
  instead(name, at) {
    if (!this.hiding || !this.model.byName.has(name)) return null;
    const said = this.model.guesses.get(name)?.get(at);
    return said === "?" ? null : said ?? "?";
  }

  /** @param {Iterable<HTMLElement>} cells */
  marks(cells) {
    const key = (/** @type {string} */ name, /** @type {number} */ at) => `${name} ${at}`;
    const { chosen, model } = this;
    const from = new Set(chosen ? model.sources(chosen.name, chosen.at).map((e) => key(e.name, e.at)) : []);
    const feeds = new Set(chosen ? model.uses(chosen.name, chosen.at).map((e) => key(e.name, e.at)) : []);
    for (const cell of cells) {
      const [name, at] = [cell.dataset.name ?? "", Number(cell.dataset.at)];
      const own = key(name, at);
      const is = chosen !== null && chosen.name === name && chosen.at === at;
      cell.classList.toggle("from", from.has(own));
      cell.classList.toggle("feeds", feeds.has(own));
      cell.classList.toggle("chosen", is);
      cell.setAttribute("aria-selected", String(is));
      cell.tabIndex = is ? 0 : -1;
      const said = this.hiding ? model.guesses.get(name)?.get(at) : undefined;
      cell.dataset.verdict = said && said !== "?" ? model.judge(name, at, said) : "";
    }
    for (const grid of this.main.querySelectorAll("table")) {
      const first = /** @type {HTMLElement | null} */ (grid.querySelector("td.cell"));
      if (first && !grid.querySelector('td.cell[tabindex="0"]')) first.tabIndex = 0;
    }
  }

  /** Show the chosen cell: its arithmetic, or a field for a given number or a guess. */
  cell() {
    const { chosen, model, texts } = this;
    const body = /** @type {HTMLElement} */ (this.panel.querySelector(".body"));
    if (!chosen) {
      body.replaceChildren(element("p", {}, texts.hint));
      return;
    }
    const { name, at } = chosen;
    const step = model.byName.get(name);
    const matrix = /** @type {import("./model.mjs").Matrix} */ (model.matrices.get(name));
    const place = Model.indexOf(matrix.shape, at).map((i) => i + 1).join(",");
    const left = `${matrix.symbol}[${place}]`;
    const title = element("h2", {}, `${left} `, element("code", {}, name));
    const said = model.guesses.get(name)?.get(at);
    if (!step) body.replaceChildren(title, this.typing(chosen, texts.given, false), this.links(chosen));
    else if (this.hiding && said !== "?") {
      const verdict = said ? [element("p", { class: "verdict", role: "status" }, texts[model.judge(name, at, said)])] : [];
      body.replaceChildren(title, this.typing(chosen, texts["guess.hint"], true), ...verdict, this.scoreLine());
    } else {
      const line = this.lineOf(step, at, left);
      body.replaceChildren(title, element("p", { class: "line" }, line), this.links(chosen), this.copies(step, at, line));
    }
  }

  /** Name the matrices that a cell is computed from, and those that use it. @param {Chosen} chosen */
  links({ name, at }) {
    const { model, texts } = this;
    const row = element("p", { class: "links" });
    for (const [text, found] of /** @type {[string, Chosen[]][]} */ ([
      [texts.from, model.sources(name, at)],
      [texts.feeds, model.uses(name, at)],
    ])) {
      const names = [...new Set(found.map((e) => e.name))];
      if (names.length) row.append(`${text} `);
      for (const one of names) row.append(element("button", { type: "button", "data-go": one }, one), " ");
    }
    return row;
  }

  /** @param {import("./model.mjs").Shown} step @param {number} at @param {string} left */
  lineOf(step, at, left) {
    const result = figureText(this.model.figure(step.name, at));
    if (!step.cells || !step.worked) return `${left} = ${result}  (${this.texts.moved})`;
    const { middle, relation, equals } = this.model.worked(step, at);
    return middle ? `${left} ${relation} ${middle} ${equals} ${result}` : `${left} = ${result}`;
  }

  /** @param {Chosen} chosen @param {string} label @param {boolean} guess */
  typing({ name, at }, label, guess) {
    const { model } = this;
    const own = guess ? model.guesses : model.edits;
    const now = guess ? "" : String(model.data.given[name].values[at]);
    const value = own.get(name)?.get(at) ?? now;
    const input = element("input", { id: "typed", value, inputmode: "decimal", autocomplete: "off" });
    return element("p", {}, element("label", { for: "typed" }, `${label} `), input, element("output", { for: "typed" }));
  }

  scoreLine() {
    let [right, n] = [0, 0];
    for (const [name, own] of this.model.guesses) {
      for (const [at, said] of own) {
        if (said === "?" || !this.model.byName.has(name)) continue;
        n += 1;
        right += Number(this.model.judge(name, at, said) !== "wrong");
      }
    }
    const text = this.texts.score.replace("{right}", String(right)).replace("{n}", String(n));
    return element("p", { class: "score" }, text);
  }

  /** @param {import("./model.mjs").Shown} step @param {number} at @param {string} line */
  copies(step, at, line) {
    const place = Model.indexOf(step.shape, at).join(", ");
    const python = `trace[${JSON.stringify(step.name)}][${place}]`;
    const latex = line.replaceAll("×", " \\times ").replaceAll("≈", "\\approx").replace(/√\(?([^)\s]+)\)?/g, "\\sqrt{$1}");
    const row = element("p", { class: "copies" }, `${this.texts.copy}: `);
    for (const [key, text] of Object.entries({ text: line, latex, python })) {
      const button = element("button", { type: "button", "data-copy": text }, this.texts[`copy.${key}`]);
      row.append(button, " ");
    }
    row.append(element("output", {}));
    return row;
  }

  /** Show the settings in force, and how many cells differ from those of the file. */
  state() {
    const { model, texts } = this;
    for (const [key, value] of Object.entries(model.settings)) this.field(key).value = value;
    this.field("mask").value = model.variant.mask;
    /** @type {HTMLInputElement} */ (document.getElementById("heat")).checked = this.heat;
    /** @type {HTMLInputElement} */ (document.getElementById("hide")).checked = this.hiding;
    const n = this.main.querySelectorAll("td.changed").length;
    const broken = Object.values(model.values).some((own) => own.some(Number.isNaN));
    const status = /** @type {HTMLElement} */ (document.getElementById("status"));
    status.textContent = broken ? texts.undefined : n ? texts.changed.replace("{n}", String(n)) : "";
    /** @type {HTMLButtonElement} */ (document.getElementById("undo")).disabled = !this.past.length;
  }

  // acting -------------------------------------------------------------------------------------

  /** Read the address. */
  restore() {
    const { chosen, hiding } = read(location.hash, this.model);
    this.chosen = chosen;
    this.hiding = hiding;
    this.show();
    if (chosen) this.main.querySelector("td.chosen")?.scrollIntoView({ block: "center" });
    this.current();
  }

  /** Remember the address before a change. */
  remember() {
    this.past.push(location.hash);
  }

  /** @param {HTMLElement} cell */
  choose(cell) {
    this.chosen = { name: cell.dataset.name ?? "", at: Number(cell.dataset.at) };
    this.show();
  }

  /** @param {string} text */
  typed(text) {
    const { chosen, model } = this;
    if (!chosen) return;
    const { name, at } = chosen;
    const guess = model.byName.has(name);
    if (Number.isNaN(numberOf(text)) && !(guess && (text === "?" || text === ""))) {
      const said = /** @type {HTMLElement} */ (this.panel.querySelector("output"));
      said.textContent = this.texts.number;
      return;
    }
    if (guess) {
      const own = model.guesses.get(name) ?? new Map();
      if (text) own.set(at, text.trim());
      else own.delete(at);
      model.guesses.set(name, own);
    } else {
      this.remember();
      model.edit(name, at, text);
    }
    this.show();
  }

  /** Go to a step by its number from 1. @param {number} n */
  go(n) {
    const step = this.model.steps[Math.min(Math.max(n, 1), this.model.steps.length) - 1];
    document.getElementById(`step-${step.name}`)?.scrollIntoView({ block: "start" });
    this.current(step.number - 1);
  }

  /** Show which step is at the top of the window. @param {number} [index] */
  current(index) {
    const edge = this.strip.getBoundingClientRect().bottom + 12;
    const sections = [...this.main.querySelectorAll("section.step")];
    const reached = sections.filter((s) => s.getBoundingClientRect().top <= edge).length;
    const at = index ?? Math.max(0, reached - 1);
    const step = this.model.steps[at];
    this.at = at;
    /** @type {HTMLInputElement} */ (document.getElementById("slider")).value = String(at + 1);
    const where = /** @type {HTMLElement} */ (document.getElementById("where"));
    where.textContent = `${at + 1}/${this.model.steps.length} ${step.title}`;
  }

  listen() {
    this.main.addEventListener("click", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      const cell = /** @type {HTMLElement | null} */ (target.closest("td.cell"));
      if (cell) this.choose(cell);
      const whole = /** @type {HTMLElement | null} */ (target.closest("button.whole"));
      if (whole) {
        this.wholes.add(whole.dataset.name ?? "");
        this.built = undefined;
        this.show();
      }
    });
    this.main.addEventListener("keydown", (event) => this.key(event));
    this.panel.addEventListener("change", (event) => {
      const target = /** @type {HTMLInputElement} */ (event.target);
      if (target.id === "typed") this.typed(target.value);
    });
    this.panel.addEventListener("click", (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      this.copy(target);
      const go = target.dataset.go;
      if (go) (document.getElementById(`step-${go}`) ?? document.getElementById("given"))?.scrollIntoView();
    });
    for (const id of ["order", "mask", "eps", "scale", "activation"]) {
      this.field(id).addEventListener("change", () => this.set(id, this.field(id).value));
    }
    this.on("undo", "click", () => {
      history.replaceState(null, "", this.past.pop() || "#");
      this.restore();
    });
    this.on("reset", "click", () => {
      this.remember();
      history.replaceState(null, "", "#");
      this.restore();
    });
    this.on("heat", "change", (box) => this.flag("heat", box.checked));
    this.on("hide", "change", (box) => this.flag("hiding", box.checked));
    this.on("before", "click", () => this.go((this.at ?? 0)));
    this.on("after", "click", () => this.go((this.at ?? 0) + 2));
    this.on("slider", "input", (slider) => this.go(Number(slider.value)));
    document.addEventListener("keydown", (event) => {
      const free = event.target === document.body || event.target === document.documentElement;
      if (!free || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key === "ArrowRight") this.go((this.at ?? 0) + 2);
      if (event.key === "ArrowLeft") this.go(this.at ?? 0);
    });
    addEventListener("scroll", () => this.current(), { passive: true });
    addEventListener("hashchange", () => this.restore());
  }

  /** @param {string} id @param {string} event @param {(from: HTMLInputElement) => void} act */
  on(id, event, act) {
    const from = /** @type {HTMLInputElement} */ (document.getElementById(id));
    from.addEventListener(event, () => act(from));
  }

  /** @param {"heat" | "hiding"} name @param {boolean} value */
  flag(name, value) {
    this[name] = value;
    this.show();
  }

  /** @param {string} key @param {string} value */
  set(key, value) {
    const number = key === "eps" || key === "scale";
    const good = !number || value === "" || (Number.isFinite(numberOf(value)) && (key !== "eps" || numberOf(value) >= 0));
    if (good) {
      this.remember();
      /** @type {any} */ (this.model.settings)[key] = number && value ? String(numberOf(value)) : value;
      this.model.compute();
      if (this.chosen && !this.model.matrices.has(this.chosen.name)) this.chosen = null;
    }
    this.show();
  }

  /** Move between the cells of a table, and begin to type. @param {KeyboardEvent} event */
  key(event) {
    const cell = /** @type {HTMLElement} */ (event.target);
    if (!cell.classList.contains("cell")) return;
    const row = /** @type {HTMLTableRowElement} */ (cell.parentElement);
    const cells = [...row.querySelectorAll("td.cell")];
    const at = cells.indexOf(cell);
    const line = (/** @type {Element | null} */ other) => other?.querySelectorAll("td.cell")[at];
    /** @type {Record<string, Element | null | undefined>} */
    const moves = {
      ArrowLeft: cells[at - 1],
      ArrowRight: cells[at + 1],
      ArrowUp: line(row.previousElementSibling),
      ArrowDown: line(row.nextElementSibling),
      Home: cells[0],
      End: cells[cells.length - 1],
    };
    if (event.key in moves) {
      const next = /** @type {HTMLElement | null | undefined} */ (moves[event.key]);
      event.preventDefault();
      if (next) {
        this.choose(next);
        next.focus();
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(cell);
      /** @type {HTMLElement | null} */ (this.panel.querySelector("#typed"))?.focus();
    }
  }

  /** @param {HTMLElement} button */
  copy(button) {
    const text = button.dataset.copy;
    if (text === undefined) return;
    const said = /** @type {HTMLElement} */ (this.panel.querySelector(".copies output"));
    navigator.clipboard?.writeText(text).then(
      () => { said.textContent = this.texts.copied; },
      () => { said.textContent = text; },
    );
    if (!navigator.clipboard) said.textContent = text;
  }
}

const carried = /** @type {HTMLElement} */ (document.getElementById("data"));
export const page = new Page(JSON.parse(carried.textContent ?? ""));
