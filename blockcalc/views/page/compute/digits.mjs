// @ts-check
/** How many digits a number is shown with: the rules of notation/digits.py. */

const SMALLEST_FIXED = -4; // 0.0001 is still written out; below it, powers of ten
const LARGEST_FIXED = 7; // 9999999 too
const SNAPPED = 10; // from this many digits on, rounding uses all digits, not the shortest text
const ALL_DIGITS = 14; // from this many digits on, floating-point noise is shown
const KEPT = 2; // a number is written out only if at least this many of its digits show

/**
 * A number as printed: digits × 10^exponent; exponent is null without a power of ten.
 * @typedef {{digits: string, exponent: number | null}} Figure
 *
 * Decimal digits: sign d.ddd × 10^power.
 * @typedef {{sign: string, digits: string, power: number}} Decimal
 */

/**
 * @param {string} text as toExponential gives it
 * @returns {Decimal}
 */
function decimal(text) {
  const [, sign, first, rest, power] = /** @type {string[]} */ (/^(-?)(\d)\.?(\d*)e([+-]\d+)$/.exec(text));
  return { sign, digits: (first + rest).replace(/0+$/, "") || "0", power: Number(power) };
}

/**
 * Give the shortest decimal digits of a number, without floating-point noise.
 * @param {number} x
 * @param {boolean} [exact] keep all digits
 * @returns {Decimal}
 */
export function shortest(x, exact = false) {
  const short = x.toExponential(11);
  const near = !exact && Math.abs(Number(short) - x) <= 1e-14 * Math.abs(x);
  return decimal(near ? short : x.toExponential());
}

/** @param {number} x */
const powerOf = (x) => decimal(x.toExponential()).power;

/**
 * Round to decimals, half away from zero on the decimal digits.
 * @param {Decimal} d
 * @param {number} places
 * @returns {{text: string, power: number | null}} the text, and the power of its first digit
 */
function fixed(d, places) {
  const kept = d.power + places + 1; // digits from the first one to the last place
  let whole = 0n;
  if (kept >= 0) {
    const padded = d.digits.padEnd(kept + 1, "0");
    whole = BigInt(padded.slice(0, kept) || "0") + (padded[kept] >= "5" ? 1n : 0n);
  }
  const plain = whole.toString().padStart(places + 1, "0");
  const cut = plain.length - places;
  const text = places ? `${plain.slice(0, cut)}.${plain.slice(cut)}` : plain;
  return { text: d.sign + text, power: whole ? whole.toString().length - 1 - places : null };
}

/**
 * Count the decimals that show a number completely.
 * @param {number} x
 * @param {boolean} [exact] also its floating-point noise
 */
export function placesNeeded(x, exact = false) {
  const d = shortest(x, exact);
  return Math.max(0, d.digits.length - 1 - d.power);
}

/** @param {number} x @param {number} digits */
const asPower = (x, digits) => powerOf(x) >= Math.max(digits + 2, LARGEST_FIXED);

/**
 * Choose the number of decimals of a column.
 * @param {Iterable<number>} values
 * @param {number} digits
 */
export function columnPlaces(values, digits) {
  const written = [...values].filter(
    (v) => Number.isFinite(v) && v !== 0 && !asPower(v, digits) && powerOf(v) >= SMALLEST_FIXED,
  );
  if (!written.length) return 0;
  const powers = written.map(powerOf);
  const [low, high] = [Math.min(...powers), Math.max(...powers)];
  const most = Math.max(0, Math.min(digits, digits - 1 - low), digits - 1 - high);
  return Math.min(most, Math.max(...written.map((v) => placesNeeded(v, digits >= ALL_DIGITS))));
}

/**
 * Choose the digits of one number.
 * @param {number} x
 * @param {number} places decimals of its column
 * @param {number} digits significant digits with a power of ten
 * @param {number} [noise] a number of at most this size is round-off and shown as 0
 * @returns {Figure}
 */
export function figure(x, places, digits, noise = 0) {
  if (!Number.isFinite(x)) return { digits: Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf", exponent: null };
  if (x !== 0 && Math.abs(x) <= noise) return { digits: (0).toFixed(places), exponent: null };
  if (x === 0) return { digits: "0", exponent: null };
  if (!asPower(x, digits)) {
    const { text, power } = fixed(shortest(x, digits >= SNAPPED), places);
    const seen = power === null ? 0 : power + places + 1;
    if (seen >= Math.min(KEPT, digits) || placesNeeded(x, digits >= ALL_DIGITS) <= places) return { digits: text, exponent: null };
  }
  return powerFigure(x, digits);
}

/**
 * Write a number with at most so many digits, very large or small ones as a power of ten.
 * @param {number} x
 * @param {number} digits
 * @returns {Figure}
 */
export function powerFigure(x, digits) {
  const d = shortest(x, digits >= SNAPPED);
  const own = shortest(Number(`${d.digits[0]}.${d.digits.slice(1)}`), digits >= ALL_DIGITS);
  const places = Math.min(digits - 1, own.digits.length - 1);
  let power = powerOf(x);
  const shift = d.power - power; // the digits may have been rounded up to the next power
  let { text } = fixed({ ...d, power: shift }, places);
  if (Math.abs(Number(text)) >= 10) {
    power += 1;
    text = fixed({ ...d, power: shift - 1 }, places).text;
  }
  if (power >= SMALLEST_FIXED && power < LARGEST_FIXED) {
    const rounded = decimal(Number(text).toExponential());
    const mantissa = { ...rounded, power: rounded.power + power };
    return { digits: fixed(mantissa, Math.max(0, places - power)).text, exponent: null };
  }
  return { digits: text, exponent: power };
}

/**
 * Write a constant of the file, such as eps, with all its digits.
 * @param {number} x
 */
export function constant(x) {
  const power = x === 0 ? 0 : powerOf(x);
  return power >= SMALLEST_FIXED && power < LARGEST_FIXED
    ? figure(x, columnPlaces([x], 17), 17)
    : powerFigure(x, 17);
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/**
 * Write a figure as text.
 * @param {Figure} f
 */
export function figureText(f) {
  const digits = f.digits.replace("inf", "∞");
  if (f.exponent === null) return digits;
  const raised = String(f.exponent).replace("-", "⁻").replace(/\d/g, (c) => RAISED[Number(c)]);
  return `${digits}×10${raised}`;
}

/** @param {Figure} f */
export const valueOf = (f) => Number(f.digits.replace("inf", "Infinity")) * 10 ** (f.exponent ?? 0);

/**
 * Tell whether a number rounds to a figure, half away from zero.
 * @param {number} x
 * @param {Figure} f
 */
export function roundsTo(x, f) {
  if (!Number.isFinite(x)) return x === valueOf(f);
  const places = (f.digits.split(".")[1] ?? "").length;
  const d = shortest(x);
  const own = fixed({ ...d, power: d.power - (f.exponent ?? 0) }, places).text;
  return own === f.digits || Number(own) === Number(f.digits);
}

/**
 * Round a number to decimals or to significant figures, half away from zero.
 * @param {number} x
 * @param {string} kind decimals or significant
 * @param {number} digits
 */
export function roundedTo(x, kind, digits) {
  if (!Number.isFinite(x) || x === 0) return x;
  const d = shortest(x);
  const places = kind === "decimals" ? digits : digits - 1 - d.power;
  if (places >= 0) return Number(fixed(d, places).text) + 0;
  const scale = 10 ** -places;
  return Number(fixed({ ...d, power: d.power + places }, 0).text) * scale;
}
