import { isJsonObject } from './json.ts';

/**
 * A copy of JSON-like data, of any depth, that shares no list and no object with it: whoever changes the one does not
 * change the other. A key named `__proto__` stays a key. What is neither a list nor a plain object is passed on as it is.
 */
export function copyJson<Value>(value: Value): Value {
  // By what they copy, so that data which holds itself comes to an end.
  const copies = new Map<object, object>();
  const todo: (readonly [from: object, to: object])[] = [];
  const copyOf = (part: unknown): unknown => {
    if (!Array.isArray(part) && !isJsonObject(part)) return part;
    const known = copies.get(part);
    if (known) return known;
    const copy: object = Array.isArray(part) ? [] : {};
    copies.set(part, copy);
    todo.push([part, copy]);
    return copy;
  };
  const root = copyOf(value);
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const [from, to] = next;
    for (const [key, item] of Object.entries(from)) setOwn(to, key, copyOf(item));
  }
  return root as Value;
}

function setOwn(target: object, key: string, value: unknown): void {
  if (key !== '__proto__') Reflect.set(target, key, value);
  else {
    const field = { value, enumerable: true, writable: true, configurable: true };
    Object.defineProperty(target, key, field);
  }
}
