/** Values that survive a reload of the tab; where session storage is full or switched off, they last as long as the page. */
const fallback = new Map();

export function loadValue(key) {
  try {
    const text = sessionStorage.getItem(key);
    return text === null ? (fallback.get(key) ?? null) : JSON.parse(text);
  } catch {
    return fallback.get(key) ?? null;
  }
}

export function saveValue(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
    fallback.delete(key);
  } catch {
    fallback.set(key, value);
  }
}
