/** One of two processes that go for the same runs at the same moment. */
import { once } from 'node:events';
import { PawlError } from '../../../src/core/errors.ts';
import { remoteRun } from '../../../src/runtime/remote-run.ts';
import { sqliteStore } from '../../../src/stores/sqlite.ts';
import { eachOf } from '../each-of.ts';
import { raceAgent } from '../race-agent.ts';
import { appendRaceNote } from '../race-notes.ts';

export interface RaceOrder {
  readonly folder: string;
  readonly path: string;
  readonly racer: string;
  readonly runIds: readonly string[];
}

const { folder, path, racer, runIds } = JSON.parse(process.argv[2] ?? '') as RaceOrder;
const store = sqliteStore(path);
const agent = raceAgent(store, (callKey) =>
  appendRaceNote(folder, { what: 'sent', racer, callKey }),
);

/** Takes the run, and lets its call run; or does nothing at all. */
async function goFor(runId: string): Promise<void> {
  try {
    const run = await agent.resume(runId);
    appendRaceNote(folder, { what: 'resumed', racer, runId });
    for (const { callId } of run.pending) await run.approve(callId);
    const { status } = await run.result;
    appendRaceNote(folder, { what: 'ended', racer, runId, status });
  } catch (error) {
    refused(runId, error);
  }
}

/** Says yes to a run that somebody else may hold. */
async function approve(runId: string): Promise<void> {
  try {
    await remoteRun(store, runId).approve('mail_1');
  } catch (error) {
    refused(runId, error);
  }
}

function refused(runId: string, error: unknown): void {
  const code = PawlError.is(error) ? error.code : String(error);
  appendRaceNote(folder, { what: 'refused', racer, runId, code });
}

process.stdout.write('ready\n');
await once(process.stdin, 'data');
// Each run is approved from elsewhere too, by both, in an order of chance. A few at once, as both shall get some.
await eachOf(runIds, 4, (runId) => Promise.all([goFor(runId), approve(runId)]));
await store.close();
process.exit(0);
