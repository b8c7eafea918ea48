/** What a store has of the run, read by another process than the one that kept it. */
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snapshotOf } from '../../src/runtime/stored-run.ts';
import { sqliteStore } from '../../src/stores/sqlite.ts';
import { loadDriver } from '../../src/stores/sqlite-driver.ts';
import type { RunSnapshot, SavedRun, SavedTurn, StepRecord } from '../../src/stores/store.ts';
import { runId } from './scenario.ts';
import { storeIn } from './world-file.ts';

export interface Stored {
  /** What SQLite says of the file: `ok`. */
  readonly integrity: string;
  readonly saved: SavedRun | null;
  readonly snapshot: RunSnapshot | null;
  readonly steps: readonly StepRecord[];
  /** What forks would begin with, at each turn that the run has had. */
  readonly turns: readonly (SavedTurn | null)[];
}

/** Reads a copy, so that whoever goes on finds the file as the dead left it. Null: there is no file. */
export async function readStored(folder: string): Promise<Stored | null> {
  if (!existsSync(storeIn(folder))) return null;
  const copy = mkdtempSync(join(tmpdir(), 'pawl-copy-'));
  try {
    cpSync(folder, copy, { recursive: true });
    return await readStore(storeIn(copy));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function readStore(path: string): Promise<Stored> {
  const store = sqliteStore(path);
  try {
    const saved = await store.load(runId);
    const steps = saved ? await store.steps(runId) : [];
    const numbers = Array.from({ length: saved?.head.turn ?? 0 }, (_, index) => index + 1);
    const turns = await Promise.all(numbers.map((turn) => store.loadTurn(runId, turn)));
    const integrity = await integrityOf(path);
    return { saved, steps, turns, snapshot: saved && snapshotOf(saved), integrity };
  } finally {
    await store.close();
  }
}

async function integrityOf(path: string): Promise<string> {
  const { DatabaseSync } = await loadDriver();
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const row = database.prepare('PRAGMA integrity_check').get();
    return String((row as { readonly integrity_check?: unknown }).integrity_check);
  } finally {
    database.close();
  }
}
