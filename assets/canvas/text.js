/** How numbers and names are written. */

/** 12 000 with a thin space between groups of digits. */
export function grouped(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** "1 segment", "12 000 segments". */
export function counted(n, noun) {
  return `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** A name of at most so many letters; a short last word stays, as "Great Spo… call" differs by it from "… song". */
export function shorten(name, longest) {
  const letters = [...name];
  if (letters.length <= longest) return name;
  const words = name.trim().split(/\s+/).map((word) => [...word]);
  const last = words.length > 1 && words.at(-1).length < longest / 2 - 1 ? [" ", ...words.at(-1)] : [];
  return `${letters.slice(0, longest - 1 - last.length).join("").trimEnd()}…${last.join("")}`;
}
