/**
 * Checks input by a JSON Schema. Zod does not know every keyword: what it can't check is let through, part by part, so
 * that a schema of any dialect makes a tool. The model is shown the whole schema all the same.
 */
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../core/json.ts';

type Validator = z.core.$ZodType;

/** @throws TypeError for a type that JSON Schema does not have. */
export function toValidator(schema: JsonObject): Validator {
  const { $defs, definitions } = schema;
  const shared = {
    ...(isJsonObject($defs) ? { $defs } : {}),
    ...(isJsonObject(definitions) ? { definitions } : {}),
  };
  return (
    convert(schema) ?? convert(withoutForeign(schema)) ?? checkByType(schema, schema.type, shared)
  );
}

/** Keywords that zod refuses a schema for. */
const foreignKeywords: ReadonlySet<string> = new Set([
  ...['not', 'if', 'then', 'else', 'dependentSchemas', 'dependentRequired'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
]);

const withoutForeign = (schema: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([keyword]) => !foreignKeywords.has(keyword)));

function convert(schema: Json): Validator | null {
  const complete: Parameters<typeof z.fromJSONSchema>[0] = JSON.parse(
    JSON.stringify(schema),
    (_key, value: Json) => declareRequired(value),
  );
  const isOfOldDialect =
    isJsonObject(schema) && schema.definitions !== undefined && schema.$defs === undefined;
  try {
    // A registry of its own: the global one belongs to the user's schemas, and refuses an id it has seen.
    return z.fromJSONSchema(complete, {
      registry: z.registry(),
      defaultTarget: isOfOldDialect ? 'draft-7' : 'draft-2020-12',
    });
  } catch {
    return null;
  }
}

/** Zod lets a required field be missing when `properties` does not name it. */
function declareRequired(schema: Json): Json {
  if (!isJsonObject(schema) || schema.type !== 'object') return schema;
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const isPlain = isJsonObject(properties) && Array.isArray(required);
  if (!isPlain || Object.hasOwn(schema, 'patternProperties')) return schema;
  const undeclared = required.filter((name) => !Object.hasOwn(properties, String(name)));
  if (undeclared.length === 0) return schema;
  const added = Object.fromEntries(undeclared.map((name) => [String(name), additionalProperties]));
  return { ...schema, properties: { ...properties, ...added } };
}

/** A part of a schema, with the definitions that it may refer to. */
function validatorOf(part: Json, shared: JsonObject): Validator {
  if (!isJsonObject(part)) return convert(part) ?? z.unknown();
  const isWhole = refersOnlyTo(part, shared);
  return (
    (isWhole ? convert({ ...part, ...shared }) : null) ??
    (isWhole ? convert({ ...withoutForeign(part), ...shared }) : null) ??
    checkByType(part, part.type, shared)
  );
}

/** A reference to another place would mean something else, once its part stands alone. */
function refersOnlyTo(part: JsonObject, shared: JsonObject): boolean {
  const todo: Json[] = [part, shared];
  for (let value = todo.pop(); value !== undefined; value = todo.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const { $ref } = isJsonObject(value) ? value : {};
    if (typeof $ref === 'string' && !/^#\/(\$defs|definitions)\//.test($ref)) return false;
    for (const child of Object.values(value)) todo.push(child);
  }
  return true;
}

function checkByType(part: JsonObject, type: Json | undefined, shared: JsonObject): Validator {
  switch (type) {
    case 'object':
      return checkFields(part, shared);
    case 'array':
      return z.array(
        Array.isArray(part.items) ? z.unknown() : validatorOf(part.items ?? true, shared),
      );
    case 'string':
      return z.string();
    case 'number':
      return z.number();
    case 'integer':
      return z.int();
    case 'boolean':
      return z.boolean();
    case 'null':
      return z.null();
    case undefined:
      return z.unknown();
  }
  const types: readonly Json[] = Array.isArray(type) ? type : [];
  if (types.length > 0 && types.every((name) => typeof name === 'string')) {
    return z.union(types.map((name) => checkByType(part, name, shared)));
  }
  throw new TypeError(`JSON Schema has no type ${JSON.stringify(type)}`);
}

function checkFields(schema: JsonObject, shared: JsonObject): Validator {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  const shape = Object.fromEntries(
    [...new Set([...Object.keys(properties), ...required])].map((name) => {
      const part = Object.hasOwn(properties, name) ? properties[name] : true;
      const validator = validatorOf(part ?? true, shared);
      return [name, required.has(name) ? validator : z.optional(validator)];
    }),
  );
  const isClosed =
    schema.additionalProperties === false && !Object.hasOwn(schema, 'patternProperties');
  return isClosed ? z.strictObject(shape) : z.looseObject(shape);
}
