// @ts-check
/** The address of the page keeps what is shown, so that a link shows the same. */

import { numberOf } from "../marks/answers.mjs";

/** @typedef {import("../compute/model.mjs").Place} Place */

/**
 * What is shown, beside the block itself: the chosen cell, the step that was gone to, the steps
 * with hidden results ("*" for all), and whether every matrix is shaded.
 * @typedef {{chosen: Place | null, step: string, hidden: Set<string>, heat: boolean}} View
 */

/**
 * Write the state of a page.
 * @param {import("../compute/model.mjs").Model} model
 * @param {View} view
 */
export function written(model, view) {
  const [first] = model.data.variants;
  const found = new URLSearchParams();
  const { order, mask, eps, scale, activation } = model.settings;
  if (order !== first.order) found.set("order", order);
  if (mask !== first.mask) found.set("mask", mask);
  for (const [key, value] of Object.entries({ eps, scale, activation })) if (value) found.set(key, value);
  for (const [name, own] of model.edits) {
    for (const [at, text] of own) found.append("set", `${name}:${at}:${text}`);
  }
  for (const name of view.hidden) found.append("hide", name);
  if (view.heat) found.set("heat", "1");
  if (view.step) found.set("step", view.step);
  if (view.chosen) found.set("cell", `${view.chosen.name}:${view.chosen.at}`);
  return found.toString();
}

/**
 * Read the settings and the changed numbers of a page; what does not fit the block is left out.
 * The values follow when they are computed again.
 * @param {string} hash
 * @param {import("../compute/model.mjs").Model} model
 */
export function readModel(hash, model) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const { data, settings } = model;
  const [first] = data.variants;
  const order = found.get("order") ?? first.order;
  settings.order = data.variants.some((v) => v.order === order) ? order : first.order;
  const mask = found.get("mask") ?? first.mask;
  settings.mask = data.variants.some((v) => v.mask === mask) ? mask : first.mask;
  const activation = found.get("activation") ?? "";
  settings.activation = Object.hasOwn(data.activations, activation) ? activation : "";
  settings.eps = numberText(found.get("eps"), 0);
  settings.scale = numberText(found.get("scale"), -Infinity);
  model.edits.clear();
  for (const one of found.getAll("set")) {
    const [name, at, text] = one.split(":");
    const there = Object.hasOwn(data.given, name) && isPlace(at, data.given[name].values.length);
    if (there && !Number.isNaN(numberOf(text ?? ""))) model.edit({ name, at: Number(at) }, text);
  }
}

/**
 * Read a number of a setting; empty if it is none.
 * @param {string | null} text
 * @param {number} least
 */
export function numberText(text, least) {
  const value = numberOf(text ?? "");
  return Number.isFinite(value) && value >= least ? String(value) : "";
}

/** @param {string | undefined} at @param {number} n */
const isPlace = (at, n) => /^\d+$/.test(at ?? "") && Number(at) < n;

/**
 * Read what is shown of a block that has been computed.
 * @param {string} hash
 * @param {import("../compute/model.mjs").Model} model
 * @returns {View}
 */
export function readView(hash, model) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const [name, at] = (found.get("cell") ?? "").split(":");
  const there = model.matrices.has(name) && isPlace(at, model.values[name].length);
  const step = found.get("step") ?? "";
  return {
    chosen: there ? { name, at: Number(at) } : null,
    step: model.byName.has(step) ? step : "",
    hidden: new Set(found.getAll("hide").filter((one) => one === "*" || model.byName.has(one))),
    heat: found.get("heat") === "1",
  };
}
