/** The shape of a JSON object apart from its values: many rows have one shape, which then is kept once. */
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';

export interface Outline {
  /** JSON text with 0 where a value belongs, in the order of the values. */
  readonly shape: string;
  readonly values: readonly Json[];
}

/** Objects deeper than this are values: a bound for hostile content. */
const maxDepth = 6;

/** Lists are values as a whole. Texts that say of what type their object is belong to the shape. */
export function outlineOf(object: JsonObject): Outline {
  const values: Json[] = [];
  const shapeOf = (value: JsonObject, depth: number): JsonObject =>
    Object.fromEntries(
      Object.entries(value).map(([key, field]) => {
        if (key === 'type' && typeof field === 'string') return [key, field];
        if (isJsonObject(field) && depth < maxDepth) return [key, shapeOf(field, depth + 1)];
        values.push(field);
        return [key, 0];
      }),
    );
  const shape = JSON.stringify(shapeOf(object, 0));
  return { shape, values };
}

/** The object again. `withValues(outlineOf(object))` equals it. */
export function withValues({ shape, values }: Outline): JsonObject {
  const left = values.values();
  const fill = (outline: JsonObject): JsonObject =>
    Object.fromEntries(
      Object.entries(outline).map(([key, field]) => {
        if (isJsonObject(field)) return [key, fill(field)];
        return [key, field === 0 ? (left.next().value ?? null) : field];
      }),
    );
  return fill(JSON.parse(shape) as JsonObject);
}
