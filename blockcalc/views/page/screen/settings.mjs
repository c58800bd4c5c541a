// @ts-check
/** The switches: order, mask, activation, eps and scale. */

import { numberText } from "./address.mjs";
import { element } from "./tables.mjs";

/** @typedef {"order" | "mask" | "activation" | "eps" | "scale"} Key */

const KEYS = /** @type {Key[]} */ (["order", "mask", "activation", "eps", "scale"]);

export class Switches {
  /**
   * @param {import("../compute/model.mjs").Model} model
   * @param {() => void} before is called before a setting changes
   * @param {() => void} after is called after it has changed
   */
  constructor(model, before, after) {
    this.model = model;
    const { data } = model;
    const own = (/** @type {"order" | "mask"} */ key) => [...new Set(data.variants.map((v) => v[key]))];
    this.options("order", own("order").map((order) => [order, data.orders[order]]));
    this.options("mask", own("mask").map((mask) => [mask, data.masks[mask]]));
    this.options("activation", [["", data.texts.file], ...Object.entries(data.activations)]);
    const uses = { activation: Object.keys(data.activations), eps: ["eps", "eps0"], scale: ["scale"] };
    for (const [key, needs] of Object.entries(uses)) this.enable(/** @type {Key} */ (key), model.has(needs));
    this.enable("mask", own("mask").length > 1);
    for (const key of KEYS) {
      this.field(key)?.addEventListener("change", (event) => {
        const text = /** @type {HTMLInputElement} */ (event.target).value.trim();
        const least = key === "eps" ? 0 : -Infinity;
        const value = key === "eps" || key === "scale" ? numberText(text, least) : text;
        if (value || !text) {
          before();
          model.settings[key] = value;
        }
        after();
      });
    }
  }

  /** @param {Key} key @returns {(HTMLSelectElement & HTMLInputElement) | null} */
  field(key) {
    return /** @type {any} */ (document.getElementById(`set-${key}`));
  }

  /** @param {Key} key @param {string[][]} pairs */
  options(key, pairs) {
    this.field(key)?.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
  }

  /** @param {Key} key @param {boolean} useful */
  enable(key, useful) {
    const field = this.field(key);
    if (field) field.disabled = !useful;
  }

  /** Show the settings in force. */
  show() {
    const { settings, variant, data } = this.model;
    const masks = new Set(data.variants.filter((v) => v.order === settings.order).map((v) => v.mask));
    for (const key of KEYS) {
      const field = this.field(key);
      if (field) field.value = key === "mask" ? variant.mask : settings[key];
    }
    for (const option of this.field("mask")?.options ?? []) option.disabled = !masks.has(option.value);
  }
}
