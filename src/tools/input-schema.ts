import { z } from 'zod';
import { invalidInput } from '../core/errors.ts';
import { canonicalJson, isJsonObject, type JsonObject } from '../core/json.ts';
import { describeThrown } from '../core/stringify.ts';
import { toWellFormed } from '../core/well-formed.ts';
import { toValidator } from './schema-validator.ts';

/**
 * A schema of any zod 4 flavour, or a plain JSON Schema of any dialect. Either describes an object. The model is shown
 * all of a JSON Schema; what zod can't check of it (`not`, `if`, `dependentRequired`, foreign references) is not checked.
 */
export type InputSchema =
  | z.core.$ZodType<unknown, object>
  | { readonly [keyword: string]: unknown };

/** What `run` gets: the output type of a zod schema; JSON behind a JSON Schema. */
export type InputOf<Schema> = Schema extends z.core.$ZodType ? z.core.output<Schema> : JsonObject;

/** The two faces of an input schema: the one that checks, and the one that the model is shown. */
export interface ReadSchema {
  readonly validator: z.core.$ZodType;
  /** JSON Schema with `type: 'object'` and without `$schema`; its keys are in the order they were written. */
  readonly jsonSchema: JsonObject;
}

/**
 * Reads a tool's input schema. The result shares nothing with a JSON Schema that was passed in.
 * @throws PawlError `invalid_input` naming `field`, for a schema that no model can be shown: not JSON, not of an object.
 */
export function readSchema(field: string, schema: unknown): ReadSchema {
  if (isZodSchema(schema)) {
    const shown = convert(field, schema, () => z.toJSONSchema(schema, { io: 'input' }));
    return { validator: schema, jsonSchema: toObjectSchema(field, shown) };
  }
  if (!isJsonObject(schema)) throw invalidInput(field, 'a zod 4 schema or a JSON Schema', schema);
  const jsonSchema = toObjectSchema(field, schema);
  return { validator: convert(field, schema, () => toValidator(jsonSchema)), jsonSchema };
}

function isZodSchema(schema: unknown): schema is z.core.$ZodType {
  return typeof schema === 'object' && schema !== null && '_zod' in schema;
}

function convert<Result>(field: string, schema: unknown, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    const reason = toWellFormed(describeThrown(error).slice(0, 300));
    throw invalidInput(field, `a schema that JSON Schema knows (${reason})`, schema);
  }
}

function toObjectSchema(field: string, schema: unknown): JsonObject {
  const copy = inlineRoot(convert(field, schema, () => copyJson(schema)));
  const { properties = {}, required = [] } = copy;
  if (copy.type !== 'object') {
    const got = copy.type ?? 'a schema without a type, such as a union';
    throw invalidInput(`${field}.type`, '"object" at the top of the schema', got);
  }
  if (!isJsonObject(properties)) throw invalidInput(`${field}.properties`, 'an object', properties);
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string')) {
    throw invalidInput(`${field}.required`, 'a list of names', required);
  }
  const { $schema: _dialect, ...rest } = copy;
  return rest;
}

/** @throws what the schema is not: JSON, an object, well-formed Unicode. */
function copyJson(schema: unknown): JsonObject {
  if (!isJsonObject(schema)) throw new TypeError('Not a JSON object');
  canonicalJson(schema);
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
    const texts = typeof value === 'string' ? [key, value] : [key];
    if (texts.every((text) => text === toWellFormed(text))) return value;
    throw new TypeError('A text of it has a lone surrogate');
  });
}

/** A zod schema with an `id` arrives as a reference to its own definition, which has no type at the top. */
function inlineRoot(schema: JsonObject): JsonObject {
  const { $ref, ...rest } = schema;
  const [, keyword = '', name = ''] =
    typeof $ref === 'string' ? (/^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref) ?? []) : [];
  const definitions = rest[keyword];
  const definition =
    isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  return isJsonObject(definition) ? { ...definition, ...rest } : schema;
}
