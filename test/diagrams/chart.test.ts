import { describe, expect, it } from 'vitest';
import { and, assign, createMachine, fromPromise } from 'xstate';
import { allStates, chartOf, isInside } from '../../src/diagrams/chart.ts';
import { sampleMachine } from './sample-machine.ts';

const chart = chartOf(sampleMachine);

function stateAt(path: string) {
  const state = allStates(chart.root).find((candidate) => candidate.path === path);
  if (state === undefined) throw new Error(`No state ${path}`);
  return state;
}

describe('chartOf', () => {
  it('lists every state, parents first, in the order of the config', () => {
    expect(allStates(chart.root).map(({ path, type }) => `${path}:${type}`)).toEqual([
      ':compound',
      'load:atomic',
      'work:parallel',
      'work.left:compound',
      'work.left.ask:atomic',
      'work.left.answered:final',
      'work.left.back:history',
      'work.right:compound',
      'work.right.count:atomic',
      'work.right.counted:final',
      'route:atomic',
      'finished:final',
      'failed:final',
    ]);
  });

  it('describes a state with its names', () => {
    expect(stateAt('load')).toMatchObject({
      id: 'sample.load',
      key: 'load',
      description: 'Fetches <what> is "needed".',
      tags: ['busy'],
      entry: ['startTimer', 'log'],
      exit: ['stopTimer'],
      invokes: [{ id: 'fetcher', src: 'fetchPage' }],
      initial: null,
    });
  });

  it.each([
    ['', 'load'],
    ['work', null],
    ['work.left', 'work.left.ask'],
  ])('knows where the group "%s" is entered', (path, initial) => {
    expect(stateAt(path).initial).toBe(initial);
  });

  it('tells the depth of a history state', () => {
    expect(stateAt('work.left.back').history).toBe('deep');
    expect(stateAt('load').history).toBeNull();
  });

  it.each([
    ['', 'event', '*', null, null, []],
    ['', 'event', 'reset', null, null, ['load']],
    ['load', 'done', 'xstate.done.actor.fetcher', 'fetcher', 'isEmpty', ['failed']],
    ['load', 'done', 'xstate.done.actor.fetcher', 'fetcher', null, ['work']],
    ['load', 'error', 'xstate.error.actor.fetcher', 'fetcher', null, ['failed']],
    ['load', 'after', 'xstate.after.1000.sample.load', '1000', null, ['failed']],
    ['load', 'after', 'xstate.after.patience.sample.load', 'patience', null, []],
    ['work', 'done', 'xstate.done.state.sample.work', null, null, ['route']],
    ['route', 'always', '', null, 'isLarge', ['work']],
  ])('finds in "%s" an edge of kind %s for "%s"', (path, kind, event, subject, guard, targets) => {
    const edge = { source: path, kind, event, subject, guard, targets };
    expect(stateAt(path).edges).toContainEqual(expect.objectContaining(edge));
  });

  it('keeps the order of guarded branches', () => {
    const branches = stateAt('route').edges.map((edge) => [edge.branch, edge.branches, edge.guard]);
    expect(branches).toEqual([
      [1, 3, 'isLarge'],
      [2, 3, 'isSmall'],
      [3, 3, null],
    ]);
  });

  it('tells an edge that stays from one that enters again', () => {
    const again = stateAt('load').edges.find(({ guard }) => guard === 'isStale');
    const stays = stateAt('load').edges.find(({ subject }) => subject === 'patience');
    expect(again).toMatchObject({ targets: ['load'], reenter: true, isInternal: false });
    expect(stays).toMatchObject({ targets: [], isInternal: true, actions: ['warn'] });
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(chart))).toEqual(chart);
  });

  it('escapes a dot in a key, so that paths stay different', () => {
    const dotted = createMachine({
      initial: 'a',
      states: { 'a.b': {}, a: { initial: 'b', states: { b: {} } } },
    });
    const paths = allStates(chartOf(dotted).root).map(({ path }) => path);
    expect(paths).toEqual(['', 'a\\.b', 'a', 'a.b']);
  });
});

describe('inlineParts', () => {
  it('is empty for a machine that only uses names', () => {
    expect(chart.inlineParts).toEqual([]);
  });

  it('reports every piece of code with its place and kind', () => {
    const machine = createMachine({
      context: () => ({}),
      invoke: { src: fromPromise(async () => 1), input: () => 1, onDone: { actions: assign({}) } },
      entry: ['named', () => {}],
      on: {
        'a/b': { guard: and(['one', 'two']) },
        c: { guard: { type: 'one', params: () => 1 } },
      },
      meta: { extra: () => 1 },
    });
    expect(chartOf(machine).inlineParts).toEqual([
      { path: '/context', kind: 'data' },
      { path: '/invoke/src', kind: 'actor' },
      { path: '/invoke/input', kind: 'data' },
      { path: '/invoke/onDone/actions', kind: 'action' },
      { path: '/entry/1', kind: 'action' },
      { path: '/on/a~1b/guard', kind: 'guard' },
      { path: '/on/c/guard/params', kind: 'data' },
      { path: '/meta/extra', kind: 'other' },
    ]);
  });

  it('shows inline code by name in the edges', () => {
    const machine = createMachine({ on: { go: { guard: and(['a']), actions: assign({}) } } });
    expect(chartOf(machine).root.edges).toMatchObject([
      { guard: 'inline and', actions: ['inline assign'] },
    ]);
  });
});

describe('isInside', () => {
  it.each([
    ['a.b', 'a', true],
    ['a', '', true],
    ['a', 'a', false],
    ['ab', 'a', false],
    ['a', 'a.b', false],
  ])('"%s" inside "%s": %s', (path, ancestor, expected) => {
    expect(isInside(path, ancestor)).toBe(expected);
  });
});
