// Keeps what is equal in two versions of a document, so that only what has changed is drawn again.

/** Returns a value equal to `after` that contains the parts of `before` which are equal in both. */
export function shared<T>(before: unknown, after: T): T {
  return part(before, after) as T;
}

function part(before: unknown, after: unknown): unknown {
  if (before === after || typeof before !== "object" || typeof after !== "object" || before === null || after === null) return after;
  if (Array.isArray(before) && Array.isArray(after)) {
    const items = after.map((item, at) => part(before[at], item));
    return items.length === before.length && items.every((item, at) => item === before[at]) ? before : items;
  }
  if (Object.getPrototypeOf(before) !== Object.prototype || Object.getPrototypeOf(after) !== Object.prototype) return after;
  const old = new Map(Object.entries(before));
  const entries = Object.entries(after).map(([name, value]) => [name, part(old.get(name), value)] as const);
  const isEqual = entries.length === old.size && entries.every(([name, value]) => old.has(name) && old.get(name) === value);
  return isEqual ? before : Object.fromEntries(entries);
}
