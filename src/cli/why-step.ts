/** What a run was asked in one of its steps: it hears it all again, and each question is noted with its answer. */
import { agentLoop } from '../../machines/agent-loop.ts';
import { invalidInput } from '../core/errors.ts';
import { heardEvent, type JournalEntry } from '../core/journal.ts';
import type { ChartState } from '../diagrams/chart.ts';
import type { Snapshot } from '../runtime/inert-run.ts';
import { openRerun, type Rerun } from '../runtime/rerun.ts';
import { stateName } from '../runtime/run-watch.ts';
import type { StepRecord, Store } from '../stores/store.ts';
import { type Asked, ask, type Decision, explainTurn, shortName, stateLine } from './why.ts';
import { factsOf } from './why-facts.ts';

/** An event, and where it led: the question that it met first, then those of the states on the way. */
export interface HeardDecisions {
  readonly event: string;
  /** The call that it is about; null: none. */
  readonly callId: string | null;
  readonly decisions: readonly Decision[];
}

export interface StepExplanation {
  readonly record: StepRecord;
  /** How the first turn that is kept began, when it was in this step. */
  readonly start: Decision | null;
  readonly heard: readonly HeardDecisions[];
}

/** @throws PawlError `invalid_input` for a step that the run did not have, or that is older than what is kept of it */
export async function explainStep(
  store: Store,
  runId: string,
  step: number,
): Promise<StepExplanation> {
  const rerun = await openRerun(store, runId);
  const record = rerun.steps.find(({ saveVersion }) => saveVersion === step);
  if (!record) throw noSuchStep(rerun, step);
  const passed: Snapshot[] = [];
  rerun.watch((snapshot) => void passed.push(snapshot));
  let now = rerun.first;
  const heard: HeardDecisions[] = [];
  for (const each of rerun.steps.slice(0, rerun.steps.indexOf(record) + 1)) {
    for (const entry of rerun.entriesOf(each)) {
      passed.length = 0;
      const before = now;
      now = rerun.after(now, entry);
      if (each === record) heard.push(decisionsOf(before, entry, passed, rerun));
    }
  }
  const isFirst = record === rerun.steps[0];
  return { record, start: isFirst ? explainTurn(rerun.start) : null, heard };
}

function noSuchStep({ steps, saved }: Rerun, step: number): Error {
  const first = steps[0]?.saveVersion ?? saved.saveVersion;
  return invalidInput('--at', `a step from ${first} to ${saved.saveVersion}`, step);
}

function decisionsOf(
  before: Snapshot,
  entry: JournalEntry,
  passed: readonly Snapshot[],
  { saved }: Rerun,
): HeardDecisions {
  const event = heardEvent(entry, saved);
  const first = decided(before, event, (descriptor) => matches(descriptor, event.type));
  // Each state that was passed asked by itself where to go on; the last one stayed.
  const others = passed.slice(0, -1).map((snapshot) => decided(snapshot, event, isAlways));
  const { callId = null } = entry.event;
  return {
    event: event.type,
    callId: callId as string | null,
    decisions: [first, ...others].filter((each) => each !== null),
  };
}

const isAlways = (descriptor: string): boolean => descriptor === '';

function matches(descriptor: string, type: string): boolean {
  if (descriptor === '') return false;
  return descriptor.endsWith('*') ? type.startsWith(descriptor.slice(0, -1)) : descriptor === type;
}

/** The branches that such an event meets, from the innermost state outwards, up to the one that is taken. */
function decided(
  { value, context }: Snapshot,
  event: { readonly type: string },
  isMet: (descriptor: string) => boolean,
): Decision | null {
  const asked: Asked[] = [];
  for (const state of stateLine(stateName(value))) {
    for (const { guard, targets } of state.edges.filter((edge) => isMet(edge.event))) {
      const answer = guard === null || ask(guard, context, event);
      if (guard !== null) asked.push({ guard, answer, facts: factsOf(guard, context) });
      if (answer) return decision(state, asked, targets[0]);
    }
  }
  return null;
}

const decision = (
  { path, description }: ChartState,
  asked: readonly Asked[],
  target: string | undefined,
): Decision => ({
  state: shortName(path === '' ? agentLoop.id : path),
  description,
  asked,
  target: target === undefined ? null : shortName(target),
});
