/** What was saved once goes on for ever: every recording is resumed, and ends as it did when it was recorded. */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteStore } from 'pawl';
import { afterAll, describe, expect, it } from 'vitest';
import { expand } from '../../src/core/checkpoint.ts';
import {
  hashesFile,
  hashOf,
  persistableStates,
  playOn,
  readRecording,
  recordingsFolder,
  snapshotFiles,
  statesIn,
  storeExpectations,
  storeFile,
} from './recording.ts';
import { playOf, playPerson } from './scenarios.ts';
import { type RecordedRun, worldOf } from './stored-runs.ts';

const folder = recordingsFolder();
const files = snapshotFiles(folder);
const readJson = (file: string): unknown => JSON.parse(readFileSync(join(folder, file), 'utf8'));

const isOnce = (begun: string): boolean => /^(push|send|pay|call) /.test(begun);
const callOf = (begun: string): string => begun.replace(/\/\d+$/, '');

describe('recorded snapshots', () => {
  it('are there for every state that a machine can be saved in', () => {
    const recorded = new Set(
      files.flatMap((file) => statesIn(readRecording(folder, file).snapshot)),
    );
    expect(persistableStates.filter((state) => !recorded.has(state))).toEqual([]);
    expect(persistableStates.length).toBeGreaterThanOrEqual(22);
    expect(files.length).toBeGreaterThanOrEqual(50);
  });

  it('are as they were recorded', () => {
    const hashes = readJson(hashesFile) as { readonly [file: string]: string };
    const found = readdirSync(folder).filter((file) => file !== hashesFile);
    expect(found.sort()).toEqual(Object.keys(hashes).sort());
    for (const [file, hash] of Object.entries(hashes)) {
      expect(hashOf(join(folder, file)), file).toBe(hash);
    }
  });

  it.each(files)('%s goes on to its end', async (file) => {
    const recording = readRecording(folder, file);
    const outcome = await playOn(recording);
    expect(outcome).toEqual(recording.expected);
    const once = [...recording.world.begun, ...outcome.begun].filter(isOnce).map(callOf);
    expect(once).toEqual([...new Set(once)]);
    for (const call of mayHaveRun(recording.snapshot)) {
      expect(outcome.begun.map(callOf)).not.toContain(call);
    }
  });
});

/** Calls of `once` tools that were under way. */
const mayHaveRun = ({ children }: { readonly [field: string]: unknown }): readonly string[] =>
  Object.entries(children as Record<string, { readonly snapshot: Frame }>).flatMap(
    ([id, { snapshot }]) => {
      const call = id.replace(/^tool\./, '');
      const name = `${call.replace(/_\d+$/, '')} ${call}`;
      return ['run', 'probe'].includes(snapshot.value) && isOnce(name) ? [name] : [];
    },
  );

interface Frame {
  readonly value: string;
}

describe('the recorded store', () => {
  const copies = mkdtempSync(join(tmpdir(), 'pawl-recorded-'));
  afterAll(() => rmSync(copies, { recursive: true, force: true }));
  const runs = existsSync(join(folder, storeExpectations))
    ? (readJson(storeExpectations) as readonly RecordedRun[])
    : [];
  let copied = 0;
  const openCopy = () => {
    copied += 1;
    const path = join(copies, `${copied}.db`);
    copyFileSync(join(folder, storeFile), path);
    return sqliteStore(path);
  };

  it('lists and loads its runs', async () => {
    expect(runs.length).toBeGreaterThanOrEqual(8);
    const store = openCopy();
    const { runs: listed, damaged } = await store.list({ tag: 'recorded' });
    expect(damaged).toEqual([]);
    const heads = listed.map(({ runId, status, state }) => ({ runId, status, state }));
    const byId = (one: { runId: string }, other: { runId: string }) =>
      one.runId < other.runId ? -1 : 1;
    expect(heads.sort(byId)).toEqual(
      runs.map(({ runId, status, state }) => ({ runId, status, state })).sort(byId),
    );
    for (const { runId } of runs) {
      const saved = await store.load(runId);
      expect(saved && expand(saved)).toMatchObject({ context: { settings: { runId } } });
      expect((await store.steps(runId)).length).toBe(saved?.saveVersion);
    }
    await store.close();
  });

  it.each(runs)('resumes $runId', async (recorded) => {
    const { runId, scenario, ends, text, begun } = recorded;
    const store = openCopy();
    const world = worldOf(recorded);
    const run = await playOf(scenario, world, { store }).agent.resume(runId);
    await playPerson(run);
    expect(await run.result).toMatchObject({ status: ends, text });
    const once = world.begun.filter(isOnce).map(callOf);
    expect(once).toEqual([...new Set(once)]);
    expect(world.begun.slice(0, begun.length)).toEqual(begun);
    expect((await store.load(runId))?.head.status).toBe(ends);
    await store.close();
  });
});
