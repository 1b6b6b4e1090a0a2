// ---- logarithm.js: logarithmic axes ----

/** Ticks of a logarithmic axis: round numbers for a small range, else powers of ten, with 2 and 5 where there is room. */
function logTicksOf(low, high, most) {
  if (high < 8 * low) return ticksOf(low, high, most);
  const decades = Math.log10(high / low);
  const every = Math.ceil(decades / most);
  const factors = 3 * decades <= most ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    if (power % every) continue;
    for (const factor of factors) {
      const at = Number(`${factor}e${power}`);
      if (at >= low && at <= high) ticks.push({ at, text: rounded(at) });
    }
  }
  return ticks;
}
