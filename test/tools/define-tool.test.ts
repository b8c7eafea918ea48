import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { PawlError } from '../../src/core/errors.ts';
import type { Json, JsonObject } from '../../src/core/json.ts';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool, ToolContext } from '../../src/tools/tool.ts';

const context: ToolContext = {
  signal: new AbortController().signal,
  idempotencyKey: 'run/1/call',
  runId: 'run',
  callId: 'call',
  attempt: 1,
  progress: () => {},
};

const basics = {
  name: 'weather',
  description: 'Tells the weather.',
  input: z.object({ city: z.string() }),
  effect: 'read',
  run: () => 'sunny',
} as const;

/** As an untyped caller would: the types refuse most of what the tests try. */
const defineUntyped = (changes: object): Tool =>
  Reflect.apply(defineTool, undefined, [{ ...basics, ...changes }]);

const toolWith = (input: unknown): Tool => defineUntyped({ input });

async function problemOf(tool: Tool, input: Json): Promise<string> {
  const parsed = await tool.parse(input);
  if (parsed.ok) throw new Error(`parsed: ${JSON.stringify(parsed.value)}`);
  return parsed.problem;
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return PawlError.is(error) ? error.code : 'not a PawlError';
  }
  return 'no error';
}

describe('a definition', () => {
  it('gets documented defaults', () => {
    expect(defineTool(basics)).toMatchObject({
      name: 'weather',
      description: 'Tells the weather.',
      effect: 'read',
      timeoutMs: 60_000,
      maxCalls: null,
      maxRetries: 0,
      concurrency: Infinity,
      maxCostUsd: 0,
      isRepeatable: false,
      maxOutputChars: null,
      onInterrupted: 'ask',
      probe: null,
    });
  });

  it('of a once tool may have a probe, which is called as it was given', async () => {
    const tool = defineTool({
      ...basics,
      effect: 'once',
      onInterrupted: 'report',
      probe(idempotencyKey, { input, attempt }) {
        expectTypeOf(input).toEqualTypeOf<{ city: string }>();
        return { happened: true, result: [idempotencyKey, input.city, attempt] };
      },
    });
    expect(tool.onInterrupted).toBe('report');
    const { signal } = context;
    const asked = { signal, input: { city: 'Oslo' }, runId: 'run', callId: 'call', attempt: 2 };
    expect(await tool.probe?.('run/1/call', asked)).toEqual({
      happened: true,
      result: ['run/1/call', 'Oslo', 2],
    });
  });

  it.each(['read', 'idempotent'])('of effect %s has nothing to ask after a crash', (effect) => {
    const probe = () => null;
    expect(() => defineUntyped({ effect, probe })).toThrow(/probe: expected none, because its/);
    expect(() => defineUntyped({ effect, onInterrupted: 'ask' })).toThrow(
      /onInterrupted: expected/,
    );
    expect(codeOf(() => defineUntyped({ effect, probe }))).toBe('invalid_input');
  });

  it('keeps what it says', () => {
    const limits = { timeoutMs: 5, maxCalls: 2, maxRetries: 3, concurrency: 1, maxOutputChars: 9 };
    const tool = defineTool({ ...basics, ...limits, maxCostUsd: 0.5, repeatable: true });
    expect(tool).toMatchObject({ ...limits, maxCostUsd: 0.5, isRepeatable: true });
  });

  it.each([
    ['no name', { name: undefined }, 'tool name'],
    ['an empty name', { name: '' }, 'tool name'],
    ['a name with a space', { name: 'send mail' }, 'tool name'],
    ['a name with a line end', { name: 'send\n' }, 'tool name'],
    ['a name with a homoglyph', { name: 'dеlete' }, 'tool name'],
    ['a name of 129 characters', { name: 'a'.repeat(129) }, 'tool name'],
    ['a name that is no string', { name: ['a'] }, 'tool name'],
    ['a blank description', { description: ' \n' }, 'description'],
    ['no description', { description: undefined }, 'description'],
    ['a lone surrogate in the description', { description: 'a\ud800' }, 'description'],
    ['no effect', { effect: undefined }, 'effect'],
    ['an unknown effect', { effect: 'write' }, 'effect'],
    ['an inherited effect', { effect: 'constructor' }, 'effect'],
    ['no function', { run: 'rm' }, 'run'],
    ['a timeout of nothing', { timeoutMs: 0 }, 'timeoutMs'],
    ['a timeout that is not a number', { timeoutMs: Number.NaN }, 'timeoutMs'],
    ['a timeout beyond what a timer can wait', { timeoutMs: 2_147_483_648 }, 'timeoutMs'],
    ['an endless timeout', { timeoutMs: Infinity }, 'timeoutMs'],
    ['a timeout as text', { timeoutMs: '5' }, 'timeoutMs'],
    ['half a call', { maxCalls: 0.5 }, 'maxCalls'],
    ['no calls', { maxCalls: 0 }, 'maxCalls'],
    ['negative retries', { maxRetries: -1 }, 'maxRetries'],
    ['endless retries', { maxRetries: Infinity }, 'maxRetries'],
    ['retries of a once tool', { effect: 'once', maxRetries: 1 }, 'maxRetries'],
    ['no concurrency', { concurrency: 0 }, 'concurrency'],
    ['a concurrency that is not a number', { concurrency: Number.NaN }, 'concurrency'],
    ['a negative cost', { maxCostUsd: -0.01 }, 'maxCostUsd'],
    ['a cost that is not a number', { maxCostUsd: Number.NaN }, 'maxCostUsd'],
    ['an endless cost', { maxCostUsd: Infinity }, 'maxCostUsd'],
    ['a cost as text', { maxCostUsd: '1' }, 'maxCostUsd'],
    ['a repeatable that is no boolean', { repeatable: 'no' }, 'repeatable'],
    ['no room for a result', { maxOutputChars: 0 }, 'maxOutputChars'],
    ['a probe that is no function', { effect: 'once', probe: true }, 'probe'],
    ['an unknown policy', { effect: 'once', onInterrupted: 'retry' }, 'onInterrupted'],
    ['an inherited policy', { effect: 'once', onInterrupted: 'constructor' }, 'onInterrupted'],
    ['a field with a typo', { timeoutMS: 5 }, 'did you mean "timeoutMs"'],
    ['no input', { input: undefined }, 'input'],
    ['an input that is a list', { input: [] }, 'input'],
    ['a zod schema that is no object', { input: z.string() }, 'input.type'],
    ['a union at the top', { input: z.union([z.object({}), z.object({})]) }, 'input.type'],
    ['a date in a zod schema', { input: z.object({ at: z.date() }) }, 'Date cannot be'],
    ['a JSON Schema without a type', { input: {} }, 'input.type'],
    ['a JSON Schema of a list', { input: { type: 'array' } }, 'input.type'],
    ['properties that are no object', { input: { type: 'object', properties: 5 } }, 'properties'],
    ['required that is no list', { input: { type: 'object', required: 'a' } }, 'required'],
    ['a type that there is not', { input: objectOf({ type: 'text' }) }, 'no type "text"'],
    ['no type where types are named', { input: objectOf({ type: ['text'] }) }, 'no type "text"'],
    ['a schema that is not JSON', { input: objectOf({ default: Number.NaN }) }, 'JSON'],
    ['a lone surrogate in a schema', { input: objectOf({ description: '\udfff' }) }, 'surrogate'],
    ['a lone surrogate in a key', { input: objectOf({ '\ud800': 1 }) }, 'surrogate'],
  ])('with %s is refused', (_name, changes, field) => {
    expect(() => defineUntyped(changes)).toThrow(field);
    expect(codeOf(() => defineUntyped(changes))).toBe('invalid_input');
  });

  it.each([null, undefined, 'weather', 5])('that is %j is refused', (definition) => {
    const define = () => Reflect.apply(defineTool, undefined, [definition]);
    expect(codeOf(define)).toBe('invalid_input');
  });

  it('says which tool is wrong', () => {
    expect(() => defineUntyped({ input: z.object({ at: z.date() }) })).toThrow(
      /^tool "weather": input: /,
    );
  });

  it.each(['__proto__', 'constructor', 'toString', '-', 'a'.repeat(128)])(
    'may have the name %s',
    (name) => {
      expect(defineTool({ ...basics, name }).name).toBe(name);
    },
  );

  it('refuses a schema that holds itself, or nests too deep, in words', () => {
    const circular: { type: string; properties: object } = { type: 'object', properties: {} };
    circular.properties = { again: circular };
    let deep: object = {};
    for (let depth = 0; depth < 100_000; depth++) deep = { items: deep };
    expect(codeOf(() => toolWith(circular))).toBe('invalid_input');
    expect(codeOf(() => toolWith(objectOf(deep)))).toBe('invalid_input');
  });
});

function objectOf(field: object): object {
  return { type: 'object', properties: { field } };
}

describe('a JSON Schema that zod does not know all of', () => {
  const of = (schema: object) => ({ type: 'object', ...schema });
  const item = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
  const list = { list: { type: 'array', items: { $ref: '#/definitions/item' } } };
  const odd = { not: { required: ['z'] }, if: {}, dependentRequired: { a: [] } };

  it.each<[string, object, readonly Json[], readonly Json[]]>([
    [
      'definitions of an older dialect',
      of({ properties: list, definitions: { item } }),
      [{}, { list: [{ id: 1 }] }],
      [{ list: [{}] }, { list: 'x' }],
    ],
    [
      'keywords at the top',
      of({ ...odd, properties: { a: { type: 'number' } }, required: ['a', 'b'] }),
      [{ a: 1, b: null, more: 1 }],
      [{ a: 'x', b: 1 }, { a: 1 }, 'text', null, []],
    ],
    [
      'keywords deep inside',
      of({
        properties: {
          a: { type: 'array', items: { ...item, not: { const: 1 }, else: {} } },
          b: { type: ['string', 'null'], else: false },
          c: { $ref: '#/definitions/item' },
        },
        definitions: { item },
        additionalProperties: false,
      }),
      [{ a: [{ id: 1 }], b: null }, { c: { id: 2 } }],
      [{ a: [{ id: 'x' }] }, { b: 1 }, { c: {} }, { d: 1 }],
    ],
    [
      'patterns for names beside them',
      of({ ...odd, patternProperties: { '^x-': { type: 'string' } }, additionalProperties: false }),
      [{ 'x-a': 'b' }],
      [{ 'x-a': 1 }],
    ],
    [
      'conditions within allOf',
      of({ properties: { a: { type: 'string' } }, allOf: [{ if: {}, else: {} }] }),
      [{ a: 'x' }],
      [{ a: 1 }],
    ],
    [
      'a recursion beside them',
      of({ ...odd, properties: { next: { $ref: '#' }, n: { type: 'integer' } } }),
      [{ n: 1, next: { n: 2 } }],
      [{ next: { n: 'x' } }],
    ],
    [
      'a recursion that can not be followed',
      of({
        properties: { next: { $ref: '#' }, kids: { type: 'array', items: { $ref: '#' } } },
        allOf: [odd],
      }),
      [{ next: 1, kids: [{}] }],
      [{ kids: {} }],
    ],
    [
      'a pattern of another engine',
      of({ properties: { a: { type: 'string', pattern: '(?i' } } }),
      [{ a: 'x' }],
      [{ a: 1 }],
    ],
    [
      'references to elsewhere, and to nothing',
      of({ properties: { a: { $ref: 'https://example.com/a' }, b: { $ref: '#/$defs/b' } } }),
      [{ a: 1, b: [] }],
      [7],
    ],
    [
      'a field with the name of a prototype',
      of({ ...JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), allOf: [odd] }),
      [{ a: 1 }],
      [7],
    ],
  ])('makes a tool with %s', async (_name, schema, good, bad) => {
    const tool = toolWith(schema);
    expect(tool.inputSchema).toEqual(schema);
    for (const value of good) expect(await tool.parse(value)).toEqual({ ok: true, value });
    for (const value of bad) expect(await problemOf(tool, value)).not.toBe('');
  });

  it('is an object at the top also when that is a definition of an older dialect', () => {
    const schema = { $ref: '#/definitions/item', definitions: { item } };
    expect(toolWith(schema).inputSchema).toMatchObject(item);
  });
});

describe('the schema for the model', () => {
  it('is the input side of a zod schema, without its dialect', () => {
    const input = z.object({
      path: z.string().describe('Where'),
      lines: z.number().default(10),
      tag: z.string().transform((tag) => tag.length),
    });
    expect(toolWith(input).inputSchema).toEqual({
      type: 'object',
      properties: {
        path: { type: 'string', description: 'Where' },
        lines: { type: 'number', default: 10 },
        tag: { type: 'string' },
      },
      required: ['path', 'tag'],
    });
  });

  it('has its keys in the order they were written, each time', () => {
    const make = () => toolWith(z.object({ why: z.string(), action: z.string(), b1: z.string() }));
    const [first, second] = [make(), make()].map((tool) => JSON.stringify(tool.inputSchema));
    expect(first).toBe(second);
    expect(Object.keys(Object(make().inputSchema.properties))).toEqual(['why', 'action', 'b1']);
  });

  it('is an object at the top also when the zod schema has an id', () => {
    const input = z.object({ a: z.string() }).meta({ id: 'define-tool-test' });
    expect(toolWith(input).inputSchema).toMatchObject({
      type: 'object',
      properties: { a: { type: 'string' } },
    });
  });

  it('keeps references of a recursive schema', () => {
    const node = z.object({
      get kids() {
        return z.array(node);
      },
    });
    expect(toolWith(node).inputSchema.properties).toEqual({
      kids: { type: 'array', items: { $ref: '#' } },
    });
  });

  it('is a copy of a JSON Schema, without its dialect', async () => {
    const schema = { $schema: 'x', type: 'object', properties: { a: { type: 'string' } } };
    const tool = toolWith(schema);
    schema.properties.a.type = 'number';
    expect(tool.inputSchema).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
    expect(await tool.parse({ a: 'x' })).toEqual({ ok: true, value: { a: 'x' } });
  });

  it('takes the same id twice', () => {
    const schema = { type: 'object', id: 'twice', title: 'T' };
    expect(toolWith(schema).inputSchema).toEqual(toolWith(schema).inputSchema);
  });
});

describe('parsing', () => {
  it('gives the output of the zod schema', async () => {
    const tool = toolWith(z.object({ n: z.string().transform(Number), m: z.number().default(2) }));
    expect(await tool.parse({ n: '4', more: true })).toEqual({ ok: true, value: { n: 4, m: 2 } });
  });

  it('waits for refinements that take their time', async () => {
    const isKnown = async (id: string) => (await Promise.resolve(id)) === 'a';
    const tool = toolWith(z.object({ id: z.string().refine(isKnown, 'Unknown id') }));
    expect(await tool.parse({ id: 'a' })).toEqual({ ok: true, value: { id: 'a' } });
    expect(await problemOf(tool, { id: 'b' })).toContain('- id: Unknown id. Got "b".');
  });

  it.each<[string, unknown, Json, string]>([
    [
      'a wrong type',
      z.object({ a: z.string() }),
      { a: 5 },
      'a: expected string, received number. Got 5.',
    ],
    ['a missing field', z.object({ a: z.string() }), {}, 'Got nothing: it is missing.'],
    [
      'a nested field',
      z.object({ a: z.array(z.object({ b: z.int() })) }),
      { a: [{ b: 'x' }] },
      '- a[0].b: ',
    ],
    [
      'a strange key',
      z.object({ a: z.record(z.string(), z.int()) }),
      { a: { 'x\ny': '' } },
      '- a["x\\ny"]: ',
    ],
    ['no object', z.object({}), 'text', '- input: expected object, received string. Got "text".'],
    ['null', z.object({}), null, 'Got null.'],
    ['a list', z.object({}), [1, 2], 'Got a list of 2.'],
    ['an unknown field', z.strictObject({}), { zz: 1 }, 'Unrecognized key: "zz". Got an object.'],
    [
      'a choice',
      z.object({ k: z.enum(['a', 'b']) }),
      { k: 'c' },
      'expected one of "a"|"b". Got "c".',
    ],
    [
      'a union',
      z.object({ u: z.union([z.string(), z.int()]) }),
      { u: true },
      'u: expected string, received boolean, or ',
    ],
    [
      'a message of the author',
      z.object({ a: z.string('Give a city.') }),
      { a: 1 },
      'a: Give a city. Got 1.',
    ],
    ['an inherited field', z.object({ toString: z.string() }), {}, 'toString: '],
    [
      'an issue without a message',
      z.object({ a: z.string(' ') }),
      { a: 1 },
      'a: not valid. Got 1.',
    ],
    [
      'JSON Schema',
      objectOf({ type: 'integer' }),
      { field: '1' },
      'field: expected number, received string',
    ],
    ['a required JSON field', { type: 'object', required: ['a'] }, {}, '- a: '],
    [
      'a required JSON field of a type',
      { type: 'object', required: ['a'], additionalProperties: { type: 'string' } },
      { a: 1 },
      '- a: expected string',
    ],
    [
      'a required field deep in JSON Schema',
      objectOf({ type: 'object', required: ['a'] }),
      { field: {} },
      '- field.a: ',
    ],
  ])('names %s', async (_name, input, value, expected) => {
    expect(await problemOf(toolWith(input), value)).toContain(expected);
  });

  it('looks at a union inside a union only by its first issue', async () => {
    const inner = z.union([z.object({ a: z.string() }), z.null()]);
    const tool = toolWith(z.object({ u: z.union([z.object({ x: inner }), z.int()]) }));
    expect(await problemOf(tool, { u: { x: 5 } })).toContain(
      'at x another value, or expected number',
    );
  });

  it('keeps the problem short, whatever was sent', async () => {
    const tool = toolWith(z.strictObject({ list: z.array(z.int()), text: z.int() }));
    const junk = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`junk\ud800${n}`, n]));
    const list = Array.from({ length: 5_000 }, () => 'x'.repeat(1_000));
    const problem = await problemOf(tool, { list, text: 'y'.repeat(1_000_000), ...junk });
    expect(problem.length).toBeLessThanOrEqual(3_000);
    expect(problem.split('\n')).toHaveLength(12);
    expect(problem).toContain('- and 4992 more');
    expect(problem).toContain('and 920 more characters');
  });

  it('turns what a check throws into a problem', async () => {
    const fail = () => {
      throw new RangeError('no such planet');
    };
    const tool = toolWith(z.object({ a: z.string().refine(fail) }));
    expect(await problemOf(tool, { a: '' })).toBe(
      'The input could not be checked: RangeError: no such planet',
    );
  });

  it('survives input that nests deeper than the stack', async () => {
    const node = z.object({
      get kids() {
        return z.array(node).optional();
      },
    });
    let deep: JsonObject = {};
    for (let depth = 0; depth < 50_000; depth++) deep = { kids: [deep] };
    expect(await problemOf(toolWith(node), deep)).toContain('could not be checked');
  });

  it('never throws, and its problems are well-formed text', async () => {
    const tools = [
      toolWith(z.object({ a: z.string(), b: z.record(z.string(), z.union([z.int(), z.null()])) })),
      toolWith({ type: 'object', properties: { a: { type: 'string' } }, required: ['a', 'b'] }),
    ];
    const json = fc.jsonValue({ stringUnit: 'binary' });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...tools), json, async (tool, value) => {
        const parsed = await tool.parse(JSON.parse(JSON.stringify(value)));
        if (!parsed.ok) expect(parsed.problem).not.toMatch(/\p{Surrogate}/u);
      }),
    );
  });

  it.each<[string, unknown]>([
    ['a zod object', z.object({ a: z.string() })],
    ['a loose zod object', z.looseObject({ a: z.string() })],
    ['a strict zod object', z.strictObject({ a: z.string() })],
    ['a catch-all', z.object({ a: z.string() }).catchall(z.unknown())],
    ['a record', z.record(z.string(), z.unknown())],
    ['a field of that name', z.object({ ['__proto__']: z.unknown(), constructor: z.unknown() })],
    ['nested values', z.object({ a: z.string(), nested: z.looseObject({}) })],
    ['JSON Schema', { type: 'object', properties: { a: { type: 'string' } } }],
    ['JSON Schema of that name', JSON.parse('{"type":"object","properties":{"__proto__":{}}}')],
  ])('of a __proto__ key is harmless with %s', async (_name, input) => {
    const hostile =
      '{"a":"x","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},' +
      '"nested":{"__proto__":{"polluted":1}}}';
    const parsed = await toolWith(input).parse(JSON.parse(hostile));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
    if (!parsed.ok) return;
    expect(Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
    expect(Reflect.get(Object(parsed.value), 'polluted')).toBeUndefined();
    const nested: unknown = Reflect.get(Object(parsed.value), 'nested');
    expect(Reflect.get(Object(nested), 'polluted')).toBeUndefined();
  });
});

describe('running', () => {
  it('hands the parsed input and the context to the function', async () => {
    const tool = defineTool({ ...basics, run: ({ city }, { callId }) => `${city} ${callId}` });
    const parsed = await tool.parse({ city: 'Paris' });
    expect(parsed.ok && tool.run(parsed.value, context)).toBe('Paris call');
  });
});

describe('types', () => {
  it('of the input come from a zod schema', () => {
    const input = z.object({ n: z.string().transform(Number), tags: z.array(z.enum(['a', 'b'])) });
    const tool = defineTool({
      ...basics,
      input,
      run: (parsed, { signal }) => {
        expectTypeOf(parsed).toEqualTypeOf<{ n: number; tags: ('a' | 'b')[] }>();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
      },
    });
    expectTypeOf(tool).toEqualTypeOf<Tool>();
    tool.run({ n: 1, tags: [] }, context);
  });

  it('of the input are JSON with a JSON Schema', () => {
    const run = (parsed: JsonObject) => parsed.a;
    const inferred = defineTool({
      ...basics,
      input: { type: 'object', properties: { a: { type: 'string' } } },
      run: (parsed) => {
        expectTypeOf(parsed).toEqualTypeOf<JsonObject>();
        return run(parsed);
      },
    });
    expect(inferred.run({ a: 1 }, context)).toBe(1);
  });

  it('refuse a schema that is no object, and a definition without an effect', () => {
    // @ts-expect-error a tool's input is an object
    expect(() => defineTool({ ...basics, input: z.string() })).toThrow('input');
    const { effect: _effect, ...rest } = basics;
    // @ts-expect-error the effect has no default
    expect(() => defineTool(rest)).toThrow('effect');
  });
});
