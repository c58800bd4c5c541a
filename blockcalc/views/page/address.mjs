// @ts-check
/** The address of the page keeps what is shown, so that a link shows the same. */

/**
 * Write the state of a page.
 * @param {import("./model.mjs").Model} model
 * @param {{name: string, at: number} | null} chosen
 * @param {boolean} hiding
 */
export function written(model, chosen, hiding) {
  const [first] = model.data.variants;
  const found = new URLSearchParams();
  const { order, mask, eps, scale, activation } = model.settings;
  if (order !== first.order) found.set("order", order);
  if (mask !== first.mask) found.set("mask", mask);
  for (const [key, value] of Object.entries({ eps, scale, activation })) if (value) found.set(key, value);
  for (const [name, own] of model.edits) {
    for (const [at, text] of own) found.append("set", `${name}:${at}:${text}`);
  }
  if (hiding) found.set("hide", "1");
  if (chosen) found.set("cell", `${chosen.name}:${chosen.at}`);
  return found.toString();
}

/**
 * Read the state of a page; what does not fit the block is left out.
 * @param {string} hash
 * @param {import("./model.mjs").Model} model
 * @returns {{chosen: {name: string, at: number} | null, hiding: boolean}}
 */
export function read(hash, model) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const { data, settings } = model;
  const order = found.get("order");
  if (data.variants.some((v) => v.order === order)) settings.order = /** @type {string} */ (order);
  const mask = found.get("mask");
  if (data.variants.some((v) => v.mask === mask)) settings.mask = /** @type {string} */ (mask);
  const activation = found.get("activation") ?? "";
  settings.activation = activation in data.activations ? activation : "";
  for (const key of /** @type {("eps" | "scale")[]} */ (["eps", "scale"])) {
    const text = found.get(key) ?? "";
    settings[key] = text !== "" && Number.isFinite(Number(text)) ? text : "";
  }
  model.edits.clear();
  for (const one of found.getAll("set")) {
    const [name, at, text] = one.split(":");
    const own = data.given[name];
    if (own && Number(at) < own.values.length && text) {
      model.edits.set(name, (model.edits.get(name) ?? new Map()).set(Number(at), text));
    }
  }
  model.compute();
  const [name, at] = (found.get("cell") ?? "").split(":");
  const there = model.matrices.has(name) && Number(at) < model.values[name].length;
  return { chosen: there ? { name, at: Number(at) } : null, hiding: found.get("hide") === "1" };
}
