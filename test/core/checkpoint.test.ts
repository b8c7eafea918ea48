import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createActor, toPromise } from 'xstate';
import { compact, expand, type RunParts } from '../../src/core/checkpoint.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { RunSnapshot, SaveStep } from '../../src/stores/store.ts';
import { live } from '../crash/live.ts';
import { memoryWorld } from '../crash/world.ts';
import { createLivingAgent, disturb, newWorld, playPerson } from '../machines/lives.ts';

/** Names that mean something to JavaScript, to XState's own snapshots, or to what is stored. */
const loadedKeys = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON', 'then'],
  ...['xstate$$type', 'sessionId', 'send', 'ref', 'id', 'src', 'snapshot', 'children', 'status'],
  ...['context', 'messages', 'calls', 'result', 'results', 'isSettled', 'settings', ''],
];

const loadedTexts = [
  '\ud800',
  '\udc00\ud800',
  '\u0000',
  '\u2028',
  '__proto__',
  '\u202e',
  '1',
  '[]',
];

const text = fc.oneof(
  fc.constantFrom(...loadedTexts),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc
    .array(fc.integer({ min: 0xd7ff, max: 0xe000 }), { maxLength: 4 })
    .map((units) => String.fromCharCode(...units)),
);

/** JSON as `JSON.parse` gives it: a key `__proto__` is a key like any other. */
const hostile = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    text,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
    fc.constantFrom(
      { xstate$$type: 1, id: 'toolCall' },
      { sessionId: 'x:1', send: null, ref: null },
      { ref: { xstate$$type: 1 }, src: 'toolCall', snapshot: { status: 'active' } },
    ),
  ),
  object: fc
    .array(fc.tuple(fc.oneof(fc.constantFrom(...loadedKeys), text), tie('value')), { maxLength: 5 })
    .map((entries) => ownKeys(entries)),
}));

function ownKeys(entries: readonly (readonly [string, unknown])[]): object {
  const object = {};
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

const id = fc.oneof(fc.constantFrom(...loadedKeys), text);

const result = (callId: string) =>
  fc.tuple(text, hostile.value).map(([content, extra]) => ({
    type: 'tool_result',
    tool_use_id: callId,
    content,
    is_error: true,
    extra,
  }));

/** Persisted JSON has ordinary objects. */
const plain = { noNullPrototype: true };

const call = id.chain((callId) =>
  fc.record(
    {
      id: fc.constant(callId),
      name: text,
      editedInput: hostile.value,
      waits: hostile.value,
      result: fc.option(result(callId)),
    },
    plain,
  ),
);

/** A machine's snapshot, as far as the stored form looks into it; everything else is anything. */
const snapshot = fc
  .record(
    {
      own: fc.record(
        {
          messages: fc.array(
            fc.record(
              {
                role: fc.constantFrom('user', 'assistant'),
                content: fc.array(hostile.value, { maxLength: 3 }),
              },
              plain,
            ),
            { maxLength: 4 },
          ),
          calls: fc.uniqueArray(call, { maxLength: 4, selector: (entry) => entry.id }),
          settings: hostile.object,
        },
        plain,
      ),
      rest: hostile.object,
      frame: hostile.object,
      children: hostile.object,
    },
    plain,
  )
  .map(({ own, rest, frame, children }) => ({
    ...frame,
    status: 'active',
    children,
    context: { ...rest, ...own },
  }));

const throughText = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

/** As a store keeps it: each part as a text of its own. */
const storedAndRead = (parts: RunParts): RunParts => ({
  settings: throughText(parts.settings),
  checkpoint: throughText(parts.checkpoint),
  messages: parts.messages.map(throughText),
  results: parts.results.map(throughText),
});

describe('the stored form', () => {
  it('gives any snapshot again as it was, also by way of text, whatever it holds', () => {
    const withKeys = { loaded: 0, calls: 0, results: 0 };
    fc.assert(
      fc.property(snapshot, (given) => {
        const before = JSON.stringify(given);
        const parts = compact(given);
        // Not the matcher of the test runner: it asks objects for their `constructor`.
        expect(isDeepStrictEqual(expand(parts), given)).toBe(true);
        expect(isDeepStrictEqual(expand(storedAndRead(parts)), given)).toBe(true);
        expect(JSON.stringify(given)).toBe(before);
        withKeys.loaded += Number(before.includes('__proto__'));
        withKeys.calls += given.context.calls.length;
        withKeys.results += parts.results.length;
      }),
      { numRuns: 1_000 },
    );
    expect(Object.hasOwn(Object.prototype, 'xstate$$type')).toBe(false);
    expect(withKeys.loaded).toBeGreaterThan(200);
    expect(withKeys.calls).toBeGreaterThan(200);
    expect(withKeys.results).toBeGreaterThan(100);
  });

  it('holds each message, the settings and each result once, and none of them in the checkpoint', () => {
    fc.assert(
      fc.property(snapshot, (given) => {
        const { checkpoint, messages, results, settings } = compact(given);
        const { context } = checkpoint as { readonly context: Record<string, unknown> };
        expect(Object.hasOwn(context, 'settings')).toBe(false);
        expect(context.messages).toBe(messages.length);
        expect(settings).toBe(given.context.settings);
        for (const stored of context.calls as readonly object[]) {
          expect(Object.hasOwn(stored, 'result')).toBe(false);
        }
        expect(results).toHaveLength(given.context.calls.filter(({ result }) => result).length);
      }),
      { numRuns: 300 },
    );
  });

  it('gives each snapshot of a run that meets everything again as it was', async () => {
    const agent = createLivingAgent(newWorld());
    const seen: string[] = [];
    const look = (): void => {
      const now = run?.getPersistedSnapshot() as unknown as RunSnapshot | undefined;
      if (!now) return;
      expect(throughText(expand(storedAndRead(compact(now))))).toStrictEqual(throughText(now));
      seen.push(JSON.stringify(now.value));
    };
    let run: ReturnType<typeof createActor<typeof agent.machine>> | undefined;
    run = createActor(agent.machine, {
      input: agent.input('Go.', { runId: 'run_1' }),
      inspect: look,
    });
    run.subscribe(look);
    disturb(run);
    playPerson(run);
    run.start();
    await toPromise(run);
    look();
    expect(seen.length).toBeGreaterThanOrEqual(40);
    expect(new Set(seen).size).toBeGreaterThanOrEqual(6);
  });

  it('leaves a checkpoint whose size does not grow with the run', async () => {
    const steps: SaveStep[] = [];
    const store = memoryStore();
    const keeping = {
      ...store,
      save: (saved: readonly SaveStep[]) => {
        steps.push(...saved);
        return store.save(saved);
      },
    };
    await live(keeping, memoryWorld(), 'wide');
    const sizes = steps
      .filter(({ head }) => head.state === 'callModel')
      .map(({ checkpoint }) => JSON.stringify(checkpoint).length);
    expect(sizes.length).toBeGreaterThanOrEqual(6);
    expect(Math.max(...sizes)).toBeLessThan(1.3 * (sizes[0] ?? 0));
  });
});
