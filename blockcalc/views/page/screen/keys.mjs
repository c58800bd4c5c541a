// @ts-check
/** Moving between the cells of a table by keys. */

/**
 * Give the cell that an arrow key leads to; null at an edge, undefined for another key.
 * @param {HTMLElement} cell
 * @param {string} key
 * @returns {HTMLElement | null | undefined}
 */
export function neighbour(cell, key) {
  const row = /** @type {HTMLElement} */ (cell.parentElement);
  const cells = /** @type {HTMLElement[]} */ ([...row.querySelectorAll("td.cell")]);
  const at = cells.indexOf(cell);
  /** @param {"nextElementSibling" | "previousElementSibling"} way @returns {HTMLElement | null} */
  const line = (way) => {
    let other = row[way];
    while (other && !other.querySelector("td.cell")) other = other[way];
    return /** @type {HTMLElement | null} */ (other?.querySelectorAll("td.cell")[at] ?? null);
  };
  switch (key) {
    case "ArrowLeft":
      return cells[at - 1] ?? null;
    case "ArrowRight":
      return cells[at + 1] ?? null;
    case "ArrowUp":
      return line("previousElementSibling");
    case "ArrowDown":
      return line("nextElementSibling");
    case "Home":
      return cells[0];
    case "End":
      return cells[cells.length - 1];
    default:
      return undefined;
  }
}
