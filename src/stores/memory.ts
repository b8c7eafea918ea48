import { checkBoolean, checkFields } from '../core/check.ts';
import type { Message } from '../core/message.ts';
import { hasEnded, type PlacedRun, pageOf } from './run-page.ts';
import { brokenStep } from './step-order.ts';
import type {
  LeaseAnswer,
  Posted,
  Refused,
  RunSummary,
  SavedRun,
  SavedTurn,
  SaveStep,
  StepRecord,
  Store,
  TranscriptBase,
  TurnStart,
} from './store.ts';

export interface MemoryStoreOptions {
  /** Keep runs that have ended. Default true; without, a process that makes many runs does not grow. */
  readonly keepsEnded?: boolean;
}

interface KeptRun {
  readonly number: number;
  readonly createdAtMs: number;
  readonly begin: NonNullable<SaveStep['begin']>;
  readonly transcripts: Map<number, Message[]>;
  readonly turns: Map<number, TurnStart>;
  readonly steps: StepRecord[];
  newest: SaveStep;
  results: SaveStep['results'];
}

interface Lease {
  readonly owner: string;
  readonly untilMs: number;
}

interface Books {
  readonly runs: Map<string, KeptRun>;
  readonly leases: Map<string, Lease>;
  readonly posted: Map<number, Posted>;
  /** Runs and posted events are numbered in the order in which they came. */
  counted: number;
}

/** Keeps runs in this process, for as long as it lives. @throws PawlError `invalid_input` */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkFields('options', options, ['keepsEnded']);
  checkBoolean('keepsEnded', options.keepsEnded);
  const { keepsEnded = true } = options;
  const books: Books = { runs: new Map(), leases: new Map(), posted: new Map(), counted: 0 };
  const { runs, leases, posted } = books;
  return {
    save: async (steps) => saveSteps(books, steps, keepsEnded),
    load: async (runId) => savedRun(runs.get(runId)),
    loadTurn: async (runId, turn) => savedTurn(runs.get(runId), turn),
    steps: async (runId) => [...(runs.get(runId)?.steps ?? [])],
    list: async (query = {}) => pageOf([...runs.values()].map(placed), query),
    lease: async (runId, owner, untilMs, nowMs) => takeLease(leases, runId, owner, untilMs, nowMs),
    async release(runIds, owner) {
      for (const runId of runIds) if (leases.get(runId)?.owner === owner) leases.delete(runId);
    },
    async post(runId, event) {
      books.counted += 1;
      posted.set(books.counted, { runId, number: books.counted, event });
    },
    async posted(runIds) {
      const wanted = new Set(runIds);
      return [...posted.values()].filter(({ runId }) => wanted.has(runId));
    },
    delete: async (runId) => forget(books, runId),
    prune: async (limits) => prune(runs, limits),
    async close() {
      for (const kept of [runs, leases, posted]) kept.clear();
    },
  };
}

/** All or nothing: what may throw is looked at before the first step is taken over. */
function saveSteps(books: Books, steps: readonly SaveStep[], keepsEnded: boolean): Refused[] {
  const versions = new Map<string, SaveStep>();
  const accepted: SaveStep[] = [];
  const refused: Refused[] = [];
  for (const step of steps) {
    const before = versions.get(step.runId) ?? books.runs.get(step.runId)?.newest;
    const why = refusal(books, before, step);
    if (why !== null) {
      refused.push({ runId: step.runId, why });
      continue;
    }
    const problem = brokenStep(before === undefined ? null : placeAfter(before), step);
    if (problem !== null) throw problem;
    versions.set(step.runId, step);
    accepted.push(step);
  }
  for (const step of accepted) accept(books, step, keepsEnded);
  return refused;
}

const placeAfter = ({ generation, position, messages }: SaveStep) => ({
  generation,
  length: position + messages.length,
});

function refusal(
  books: Books,
  before: SaveStep | undefined,
  step: SaveStep,
): Refused['why'] | null {
  if (step.follows === 0 && before !== undefined) return 'exists';
  if (step.follows !== (before === undefined ? 0 : before.follows + 1)) return 'stale';
  const base = step.begin?.base;
  return base && messagesOf(books, base) === null ? 'stale' : null;
}

function messagesOf({ runs }: Books, base: TranscriptBase): Message[] | null {
  const messages = runs.get(base.runId)?.transcripts.get(base.generation);
  if (messages === undefined || messages.length < base.length) return null;
  return messages.slice(0, base.length);
}

function accept(books: Books, step: SaveStep, keepsEnded: boolean): void {
  for (const number of step.heard) {
    if (books.posted.get(number)?.runId === step.runId) books.posted.delete(number);
  }
  const run = books.runs.get(step.runId) ?? beginRun(books, step);
  const messages = run.transcripts.get(step.generation) ?? [];
  messages.push(...step.messages);
  run.transcripts.set(step.generation, messages);
  run.results = step.closesBatch ? [] : [...run.results, ...step.results];
  if (step.turnStart !== null) run.turns.set(step.turnStart.turn, step.turnStart);
  run.steps.push({ saveVersion: step.follows + 1, ...step.record });
  run.newest = step;
  if (hasEnded(step.head.status) && !keepsEnded) forget(books, step.runId);
}

function beginRun(books: Books, step: SaveStep): KeptRun {
  const { runId, begin, generation, record } = step;
  // The check of the step has seen to it that there is a beginning.
  const { settings, base, forkOf, lease } = begin as NonNullable<SaveStep['begin']>;
  books.counted += 1;
  const run: KeptRun = {
    number: books.counted,
    createdAtMs: record.atMs,
    begin: { settings, base, forkOf, lease },
    transcripts: new Map([[generation, (base && messagesOf(books, base)) ?? []]]),
    turns: new Map(),
    steps: [],
    newest: step,
    results: [],
  };
  books.runs.set(runId, run);
  if (lease !== null) books.leases.set(runId, lease);
  return run;
}

function savedRun(run: KeptRun | undefined): SavedRun | null {
  if (run === undefined) return null;
  const { runId, checkpoint, generation, head, follows } = run.newest;
  return {
    runId,
    saveVersion: follows + 1,
    settings: run.begin.settings,
    checkpoint,
    generation,
    messages: [...(run.transcripts.get(generation) ?? [])],
    results: run.results,
    head,
    forkOf: run.begin.forkOf,
  };
}

function savedTurn(run: KeptRun | undefined, turn: number): SavedTurn | null {
  const start = run?.turns.get(turn);
  if (run === undefined || start === undefined) return null;
  const messages = run.transcripts.get(start.generation)?.slice(0, start.length) ?? [];
  return { ...start, settings: run.begin.settings, messages };
}

function placed(run: KeptRun): PlacedRun {
  const { number, createdAtMs, begin, newest } = run;
  const updatedAtMs = newest.record.atMs;
  const summary: RunSummary = {
    ...newest.head,
    runId: newest.runId,
    saveVersion: newest.follows + 1,
    createdAtMs,
    updatedAtMs,
    forkOf: begin.forkOf,
  };
  return { number, updatedAtMs, summary };
}

function takeLease(
  leases: Map<string, Lease>,
  runId: string,
  owner: string,
  untilMs: number,
  nowMs: number,
): LeaseAnswer {
  const held = leases.get(runId);
  if (held !== undefined && held.owner !== owner && held.untilMs > nowMs) {
    return { ok: false, ...held };
  }
  leases.set(runId, { owner, untilMs });
  return { ok: true };
}

function forget({ runs, leases, posted }: Books, runId: string): void {
  runs.delete(runId);
  leases.delete(runId);
  for (const [number, event] of posted) if (event.runId === runId) posted.delete(number);
}

function prune(
  runs: ReadonlyMap<string, KeptRun>,
  { endedBeforeMs, keepTurns }: { readonly endedBeforeMs: number; readonly keepTurns: number },
): number {
  let dropped = 0;
  for (const { newest, turns, transcripts } of runs.values()) {
    if (!hasEnded(newest.head.status) || newest.record.atMs >= endedBeforeMs) continue;
    const old = [...turns.keys()].sort((one, other) => other - one).slice(keepTurns);
    for (const turn of old) turns.delete(turn);
    dropped += old.length;
    const needed = new Set([newest, ...turns.values()].map(({ generation }) => generation));
    for (const generation of transcripts.keys()) {
      if (!needed.has(generation)) transcripts.delete(generation);
    }
  }
  return dropped;
}
