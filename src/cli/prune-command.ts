import { exitCodes } from './exit-code.ts';
import { refuseHeld } from './holder.ts';
import { findRunId, shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { countOf } from './show-run.ts';
import { formatAge, showLine } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import type { Terminal } from './terminal.ts';

export interface PruneOptions {
  readonly store: string;
  /** Milliseconds. */
  readonly olderThan: number;
  readonly keepTurns: number;
  readonly json?: true;
}

/** `pawl prune`: drops turns that nobody will fork at any more. @throws PawlError `invalid_input`, `store_failed` */
export async function pruneCommand(
  { olderThan, keepTurns, json }: PruneOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const endedBeforeMs = Date.now() - olderThan;
  const dropped = await withStore(place, (store) => store.prune({ endedBeforeMs, keepTurns }));
  const reason = `Dropped ${countOf(dropped, 'turn')} of runs that ended more than ${formatAge(olderThan)} ago.`;
  return finish(terminal, reason, json);
}

/** `pawl delete`: removes a run. @throws PawlError `unknown_run`, `run_locked`, `invalid_input`, `store_failed` */
export async function deleteCommand(
  text: string,
  { json }: { readonly json?: true },
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const runId = await withStore(place, async (store) => {
    const found = await findRunId(store, text);
    await refuseHeld(store, found);
    await store.delete(found);
    return found;
  });
  return finish(terminal, `Deleted run ${showLine(shortId(runId))}.`, json);
}

function finish(terminal: Terminal, reason: string, json: true | undefined): number {
  const code = exitCodes.completed;
  terminal.say(`  ${terminal.paint('good', '✓')} ${reason}`);
  if (json) terminal.write(exitLine({ code, reason, result: null, pending: [] }));
  return code;
}
