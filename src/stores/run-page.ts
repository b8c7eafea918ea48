/** How runs are filtered, ordered and paged; the same for every store. */
import { checkFields, checkList, checkOneOf, checkText, checkWhole } from '../core/check.ts';
import { invalidInput } from '../core/errors.ts';
import type { RunQuery, RunSummary } from './store.ts';

/** A place in the order of runs: newest update first; of equal ones, the run that began last. */
export interface RunPlace {
  readonly updatedAtMs: number;
  /** Counts the runs of a store in the order in which they began. */
  readonly number: number;
}

export interface PlacedRun extends RunPlace {
  readonly summary: RunSummary;
}

/** A checked query: where its page begins (after this place) and how long it is. */
export interface RunPage {
  readonly after: RunPlace;
  readonly limit: number;
}

const fields = ['status', 'agent', 'tag', 'waitsFor', 'updatedBeforeMs', 'limit', 'after'];
const reasons = ['approval', 'settlement', 'budget', 'resume'];
const start: RunPlace = { updatedAtMs: Number.MAX_SAFE_INTEGER, number: Number.MAX_SAFE_INTEGER };
const defaultLimit = 50;

/** @throws PawlError `invalid_input` */
export function checkQuery(query: RunQuery): RunPage {
  checkFields('query', query, fields);
  checkList('query.status', query.status);
  checkText('query.agent', query.agent);
  checkText('query.tag', query.tag);
  checkOneOf('query.waitsFor', query.waitsFor, reasons);
  checkWhole('query.limit', query.limit, 1);
  const { limit = defaultLimit, after } = query;
  return { limit, after: after === undefined ? start : readPlace(after) };
}

function readPlace(text: string): RunPlace {
  const found = typeof text === 'string' ? /^(\d{1,16})-(\d{1,16})$/.exec(text) : null;
  if (found === null) throw invalidInput('query.after', '`next` of an earlier page', text);
  return { updatedAtMs: Number(found[1]), number: Number(found[2]) };
}

const writePlace = ({ updatedAtMs, number }: RunPlace): string => `${updatedAtMs}-${number}`;

export function isWanted(run: RunSummary, query: RunQuery): boolean {
  const { status, agent, tag, waitsFor, updatedBeforeMs } = query;
  return (
    (status === undefined || status.includes(run.status)) &&
    (agent === undefined || run.agent === agent) &&
    (tag === undefined || run.tags.includes(tag)) &&
    (waitsFor === undefined || run.waits.some((wait) => wait.for === waitsFor)) &&
    (updatedBeforeMs === undefined || run.updatedAtMs < updatedBeforeMs)
  );
}

/** The page of these runs, given in any order. */
export function pageOf(runs: readonly PlacedRun[], query: RunQuery): RunListing {
  const { after, limit } = checkQuery(query);
  const rest = runs
    .filter((run) => compare(after, run) < 0 && isWanted(run.summary, query))
    .sort(compare);
  return cutPage(rest, limit);
}

/** A page as it is answered, from runs in order of which one more than the limit was asked for. */
export function cutPage(runs: readonly PlacedRun[], limit: number): RunListing {
  const page = runs.slice(0, limit);
  const last = page.at(-1);
  return {
    runs: page.map(({ summary }) => summary),
    next: runs.length > limit && last !== undefined ? writePlace(last) : null,
    damaged: [],
  };
}

export interface RunListing {
  readonly runs: readonly RunSummary[];
  readonly next: string | null;
  readonly damaged: readonly string[];
}

const compare = (one: RunPlace, other: RunPlace): number =>
  other.updatedAtMs - one.updatedAtMs || other.number - one.number;

const unended: readonly string[] = ['running', 'waiting'];

export const hasEnded = (status: string): boolean => !unended.includes(status);
