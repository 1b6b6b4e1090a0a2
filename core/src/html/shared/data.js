// Firebox's interactive report. Rust joins these files, in the order of the list in their folder, into one module, so that
// each sees the names of all and the page sees none of them.

// ---- data.js: arrays in the report's JSON, numbers as text, and CSV ----

/** The bytes of a text in base64. */
function bytesOf(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** A typed array of a text in base64. Its numbers are little-endian, as on every machine that runs a browser today. */
const arrayOf = (Type, text) => new Type(bytesOf(text).buffer);

/** The value limited to [low, high]. */
const clamped = (value, low, high) => Math.min(Math.max(value, low), high);

/** Numbers in a unit that is their largest magnitude. */
const scaledNumbers = ({ unit, values }) => Float64Array.from(arrayOf(Float32Array, values), (value) => unit * value);

/** True if bit `i` of packed bits is set. */
const bitAt = (bits, i) => (bits[i >> 3] >> (i & 7)) & 1;

/** A whole number with thin spaces between thousands, and its noun: "12 400 rows". */
const counted = (count, noun) => `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;

/** A number with narrow spaces between its thousands, from 10 000 on. */
function grouped(count) {
  const [whole, ...decimals] = String(count).split('.');
  return [count < 10000 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, '\u202f'), ...decimals].join('.');
}

/** A number with a true minus sign, which is as wide as a digit. */
const signed = (text) => text.replaceAll('-', '\u2212').replace('e+', 'e');

/** A number rounded to `digits` significant digits, for display. */
function rounded(value, digits = 4) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'missing' : signed(String(value));
  const text =
    Math.abs(value) >= 10 ** Math.max(6, digits) || (value !== 0 && Math.abs(value) < 1e-4)
      ? value.toExponential(digits - 1).replace(/\.?0+e/, 'e')
      : String(Number(value.toPrecision(digits)));
  return signed(text);
}

/**
 * A column of numbers, offset + scale·v. `fileOf` gives a row's number for files: the shortest text with the same v, which
 * is what the table had if v is precise enough; `textOf` gives it for display.
 */
function columnOf({ name, offset, scale, values }) {
  const parts = arrayOf(Float32Array, values);
  const numbers = Float64Array.from(parts, (part) => offset + scale * part);
  const fileOf = (row) => {
    if (Number.isNaN(numbers[row])) return '';
    for (let digits = 6; digits < 17; digits++) {
      const near = Number(numbers[row].toPrecision(digits));
      if (Math.fround((near - offset) / scale) === parts[row]) return String(near);
    }
    return String(numbers[row]);
  };
  return { name, values: numbers, fileOf, textOf: (row) => signed(fileOf(row)) || 'missing' };
}

/** A field of a CSV file, in quotes if it needs them. */
const field = (text) => /^$|[",\n\r#]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** The smallest and largest finite number, or null without finite numbers. */
function rangeOf(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  return low <= high ? [low, high] : null;
}
