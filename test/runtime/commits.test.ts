import { describe, expect, it } from 'vitest';
import type { PawlError } from '../../src/core/errors.ts';
import { groupCommit } from '../../src/runtime/commits.ts';
import type { StepBuilder, StepParts } from '../../src/runtime/step-builder.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import type { Store } from '../../src/stores/store.ts';

/** A store whose saves are seen, and end when the test says so. */
function watchedStore(save?: Store['save']) {
  const inner = memoryStore();
  const commits: string[][] = [];
  const store: Store = {
    ...inner,
    save: async (steps) => {
      commits.push(steps.map(({ runId, follows }) => `${runId}/${follows}`));
      return save ? save(steps) : inner.save(steps);
    },
  };
  return { store, commits };
}

const step: StepParts = {
  begin: {
    settings: {} as never,
    base: null,
    forkOf: null,
    lease: null,
  },
  checkpoint: { value: 'x' },
  generation: 0,
  position: 0,
  messages: [],
  results: [],
  closesBatch: false,
  turnStart: null,
  record: {
    atMs: 0,
    state: 'callModel',
    cause: 'x',
    turn: 1,
    spend: { inputTokens: 0, outputTokens: 0, costMicros: 0, activeMs: 0 },
    events: [],
  },
  head: { status: 'running', state: 'callModel', agent: null, tags: [], turn: 1, waits: [] },
  heard: [],
};

/** A run that has always the same to save; a second save does not begin it again. */
function builderOf(): StepBuilder {
  let { begin } = step;
  const saved = (): void => {
    begin = null;
  };
  return {
    next: () => ({ step: { ...step, begin }, saved }),
    noteHeard: () => true,
    noteEvent: () => {},
    noteTurn: () => {},
  };
}

function savers(store: Store, ...runIds: string[]) {
  const failures: PawlError[] = [];
  const { saverFor } = groupCommit(store);
  const onFailed = (error: PawlError) => void failures.push(error);
  return {
    failures,
    savers: runIds.map((runId) =>
      saverFor({ runId, builder: builderOf(), saveVersion: 0, onFailed }),
    ),
  };
}

describe('groupCommit', () => {
  it('saves everything that changed in one turn of the event loop together, once', async () => {
    const { store, commits } = watchedStore();
    const [a, b] = savers(store, 'a', 'b').savers;
    a?.noteChange();
    a?.noteChange();
    b?.noteChange();
    await Promise.all([a?.saved(), b?.saved()]);
    expect(commits).toEqual([['a/0', 'b/0']]);
  });

  it('resolves at once when nothing has changed', async () => {
    const { store, commits } = watchedStore();
    await savers(store, 'a').savers[0]?.saved();
    expect(commits).toEqual([]);
  });

  it('saves what changes during a commit in the next one, and lets effects wait for that', async () => {
    let finish: (() => void) | undefined;
    const { store, commits } = watchedStore(
      () => new Promise((resolve) => (finish = () => resolve([]))),
    );
    const [a] = savers(store, 'a').savers;
    a?.noteChange();
    const first = a?.saved();
    await new Promise(setImmediate);
    a?.noteChange();
    let isSecondSaved = false;
    const second = a?.saved().then(() => (isSecondSaved = true));
    finish?.();
    await first;
    expect(isSecondSaved).toBe(false);
    await new Promise(setImmediate);
    finish?.();
    await second;
    expect(commits).toEqual([['a/0'], ['a/1']]);
  });

  it('stops a run that cannot be saved, whoever waits for it, and never saves it again', async () => {
    const { store, commits } = watchedStore(() => Promise.reject(new Error('disk full')));
    const { savers: all, failures } = savers(store, 'a');
    all[0]?.noteChange();
    await expect(all[0]?.saved()).rejects.toThrow('disk full');
    expect(failures.map(({ code }) => code)).toEqual(['store_failed']);
    all[0]?.noteChange();
    await expect(all[0]?.saved()).rejects.toMatchObject({ code: 'store_failed' });
    expect(commits).toHaveLength(1);
  });

  it.each([
    ['disk full', 'disk full. It was stopped'],
    ['Free some disk space, then resume the runs.', 'then resume the runs. It was stopped'],
    ['Why?', 'Why? It was stopped'],
  ])('tells the reason "%s" with one full stop', async (reason, text) => {
    const { store } = watchedStore(() => Promise.reject(new Error(reason)));
    const [saver] = savers(store, 'a').savers;
    saver?.noteChange();
    await expect(saver?.saved()).rejects.toThrow(text);
  });

  it('stops only the run that another writer saved first', async () => {
    const { store } = watchedStore();
    await store.save([{ runId: 'a', follows: 0, ...step }]);
    const { savers: all, failures } = savers(store, 'a', 'b');
    for (const saver of all) saver.noteChange();
    await expect(all[0]?.saved()).rejects.toMatchObject({ code: 'run_exists' });
    await expect(all[1]?.saved()).resolves.toBeUndefined();
    expect(failures).toHaveLength(1);
  });
});
