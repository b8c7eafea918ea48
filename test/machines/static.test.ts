/** The machines as documents: what a reader, a picture or the editor sees is all that there is. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, createActor, type InputFrom } from 'xstate';
import { agentLoop } from '../../machines/agent-loop.ts';
import { modelCall } from '../../machines/model-call.ts';
import { toolCall } from '../../machines/tool-call.ts';
import { firstAttempt } from '../../src/core/reply.ts';
import { allStates, type ChartState, chartOf } from '../../src/diagrams/chart.ts';
import { runInput } from './samples.ts';

interface Sample {
  readonly machine: AnyStateMachine;
  readonly input: InputFrom<AnyStateMachine>;
  /** Actors that an action starts, so that no state names them. */
  readonly spawned: readonly string[];
}

const samples: readonly (readonly [name: string, sample: Sample])[] = [
  ['agent-loop', { machine: agentLoop, input: runInput(), spawned: ['toolCall', 'until'] }],
  [
    'tool-call',
    {
      machine: toolCall,
      input: { callId: 'a', effect: 'once', maxRetries: 0, onInterrupted: 'ask' },
      spawned: [],
    },
  ],
  [
    'model-call',
    {
      machine: modelCall,
      input: { ask: { kind: 'turn', turn: 1 }, plan: firstAttempt, maxRetries: 0, models: 1 },
      spawned: [],
    },
  ],
];

/** Everything in a config, at any depth, with the keys that lead to it. */
function partsOf(value: unknown, keys: readonly string[] = []): readonly Part[] {
  const part = { keys, value };
  if (typeof value !== 'object' || value === null) return [part];
  const inside = Object.entries(value).flatMap(([key, child]) => partsOf(child, [...keys, key]));
  return [part, ...inside];
}

interface Part {
  readonly keys: readonly string[];
  readonly value: unknown;
}

/** An action, a guard, an actor: a name, or a name with parameters. */
function isNamed(part: unknown): boolean {
  if (typeof part === 'string') return true;
  if (typeof part !== 'object' || part === null) return false;
  const fields = Object.keys(part).filter((key) => key !== 'params');
  return fields.join() === 'type' && 'type' in part && typeof part.type === 'string';
}

const isTransient = ({ edges, invokes }: ChartState): boolean =>
  invokes.length === 0 && edges.length > 0 && edges.every(({ kind }) => kind === 'always');

const isLeaf = ({ type }: ChartState): boolean => type === 'atomic';

describe.each(samples)('the machine %s', (name, { machine, input, spawned }) => {
  const chart = chartOf(machine);
  const states = allStates(chart.root);
  const parts = partsOf(machine.config);

  it('can be created', () => {
    const snapshot = createActor(machine, { input }).getSnapshot();
    expect(snapshot.status).toBe('active');
    expect(snapshot.error).toBeUndefined();
  });

  it('holds code only where values are computed', () => {
    expect(chart.inlineParts.filter(({ kind }) => kind !== 'data')).toEqual([]);
    expect(chart.inlineParts.length).toBeGreaterThan(0);
  });

  it('has a name that is declared in its file for each function', async () => {
    const file = new URL(`../../machines/${name}.ts`, import.meta.url);
    const source = await readFile(file, 'utf8');
    const names = parts.flatMap(({ value }) => (typeof value === 'function' ? [value.name] : []));
    const undeclared = names.filter((declared) => !source.includes(`\nconst ${declared} = (`));
    expect(undeclared).toEqual([]);
  });

  it('names its guards, actions and actors instead of holding them', () => {
    const named = new Set(['guard', 'actions', 'entry', 'exit', 'src']);
    const found = parts.filter(({ keys }) => named.has(keys.at(-1) ?? ''));
    const flat = found.flatMap(({ value }) => (Array.isArray(value) ? value : [value]));
    expect(flat.filter((part) => !isNamed(part))).toEqual([]);
    expect(flat.length).toBeGreaterThan(5);
  });

  it('uses each guard, action and actor that it registers, and registers each that it uses', () => {
    const edges = states.flatMap((state) => state.edges);
    const used = {
      guards: edges.flatMap(({ guard }) => (guard === null ? [] : [guard])),
      actions: [
        ...edges.flatMap(({ actions }) => actions),
        ...states.flatMap(({ entry, exit }) => [...entry, ...exit]),
      ],
      actors: [...states.flatMap(({ invokes }) => invokes.map(({ src }) => src)), ...spawned],
      delays: [],
    };
    for (const kind of ['guards', 'actions', 'actors', 'delays'] as const) {
      const registered = Object.keys(machine.implementations[kind]);
      expect([...new Set(used[kind])].sort(), kind).toEqual(registered.sort());
    }
  });

  it('describes every state', () => {
    expect(chart.description).not.toBeNull();
    expect(states.filter(({ description }) => !description).map(({ path }) => path)).toEqual([]);
  });

  it('says of every state at rest whether it is busy or waits for a person', () => {
    const resting = states.filter((state) => isLeaf(state) && !isTransient(state));
    const untold = resting.filter(({ tags }) => !/^(busy|waitsForHuman)$/.test(tags.join()));
    expect(untold.map(({ path }) => path)).toEqual([]);
    expect(resting.length).toBeGreaterThan(1);
  });

  it('keeps no time and no names in the actor system, which no snapshot can hold', () => {
    const foreign = new Set(['after', 'delay', 'delays', 'systemId']);
    expect(parts.filter(({ keys }) => foreign.has(keys.at(-1) ?? ''))).toEqual([]);
  });
});
