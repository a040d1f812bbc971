/** How numbers are written. */

/** 12 000 with a thin space between groups of digits. */
export function grouped(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}
