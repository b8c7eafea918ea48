/** Ids of runs as people write and read them. */
import { invalidInput, PawlError } from '../core/errors.ts';
import type { RunQuery, RunSummary, Store } from '../stores/store.ts';

const made = /^run_([0-9a-f]{8})-[0-9a-f-]{27}$/;

/** Enough of an id to name the run: `3f2a91c0`. An id that somebody chose stays whole. */
export const shortId = (runId: string): string => made.exec(runId)?.[1] ?? runId;

const pageSize = 500;

/** All runs, newest first, and those that can't be read. */
export async function* pagesOf(
  store: Store,
  query: RunQuery = {},
): AsyncGenerator<{ readonly runs: readonly RunSummary[]; readonly damaged: readonly string[] }> {
  let after: string | null = null;
  do {
    const page = await store.list({
      limit: pageSize,
      ...query,
      ...(after !== null && { after }),
    });
    yield page;
    after = page.next;
  } while (after !== null);
}

/** The run that an id, or the beginning of one, stands for. @throws PawlError `unknown_run`, `invalid_input` */
export async function findRunId(store: Store, text: string): Promise<string> {
  const matching = new Set<string>();
  for await (const { runs, damaged } of pagesOf(store)) {
    for (const runId of [...runs.map((run) => run.runId), ...damaged]) {
      if (runId === text) return runId;
      if (begins(runId, text)) matching.add(runId);
    }
  }
  const [only, ...others] = matching;
  if (only === undefined) throw new PawlError('unknown_run', `The store knows no run "${text}".`);
  if (others.length === 0) return only;
  const some = [only, ...others].slice(0, 5).join(', ');
  throw invalidInput('RUN', `the beginning of one id (${matching.size} have it: ${some})`, text);
}

const begins = (runId: string, text: string): boolean =>
  text !== '' && (runId.startsWith(text) || runId.startsWith(`run_${text}`));
