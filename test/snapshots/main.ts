/**
 * Records a snapshot of every state that a run can be saved in, and a store with runs in several states:
 *
 *     npx tsx test/snapshots/main.ts [FOLDER]
 *
 * Run by hand, once for each schema. Never touches a recording that is there: only what is missing is added.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sqliteStore } from 'pawl';
import { allMoments, chosenMoments } from './moments.ts';
import {
  hashesFile,
  hashOf,
  persistableStates,
  playOn,
  type Recording,
  readRecording,
  recordingsFolder,
  snapshotFiles,
  statesIn,
  storeExpectations,
  storeFile,
} from './recording.ts';
import { recordedRuns, recordStore } from './stored-runs.ts';

function add(folder: string, file: string, content: unknown): boolean {
  const path = join(folder, file);
  if (existsSync(path)) return false;
  writeFileSync(path, `${JSON.stringify(content)}\n`, { flag: 'wx' });
  return true;
}

function noteHashes(folder: string): void {
  const path = join(folder, hashesFile);
  const known: Record<string, string> = existsSync(path)
    ? JSON.parse(readFileSync(path, 'utf8'))
    : {};
  const files = [...snapshotFiles(folder), storeFile, storeExpectations];
  const hashes = Object.fromEntries(files.map((file) => [file, hashOf(join(folder, file))]));
  for (const [file, hash] of Object.entries(known)) {
    if (hashes[file] !== hash) throw new Error(`${file} is not as it was recorded.`);
  }
  writeFileSync(path, `${JSON.stringify(hashes, null, 2)}\n`);
}

const folder = process.argv[2] ?? recordingsFolder();
mkdirSync(folder, { recursive: true });
let added = 0;
for (const [name, moment] of chosenMoments(await allMoments())) {
  const recording: Recording = { ...moment, expected: await playOn(moment) };
  if (add(folder, `${name}.json`, recording)) added += 1;
}
if (!existsSync(join(folder, storeFile))) {
  const store = sqliteStore(join(folder, storeFile));
  await recordStore(store);
  await store.close();
  add(folder, storeExpectations, recordedRuns);
  added += 1;
}
noteHashes(folder);
const recorded = snapshotFiles(folder);
const states = new Set(recorded.flatMap((file) => statesIn(readRecording(folder, file).snapshot)));
const missing = persistableStates.filter((state) => !states.has(state));
console.log(`${folder}: ${added} added, ${recorded.length} snapshots and a store.`);
if (missing.length > 0) {
  console.error(`No recording of: ${missing.join(', ')}`);
  process.exitCode = 1;
}
