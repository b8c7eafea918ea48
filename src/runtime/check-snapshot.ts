/**
 * Can this version go on from a snapshot? One that can't be gone on from would be a run that waits for ever, or spends
 * what it may not, so it is refused while nothing has happened yet.
 */
import type { ShapeProblem } from '../core/block-shape.ts';
import { describeGot, PawlError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { RunContext } from '../core/run-context.ts';
import { jsonMisfit } from '../core/shape.ts';
import { upgraded, versionOf } from '../core/upgrade.ts';
import { type Upgrades, upgrades } from '../core/upgrades.ts';
import { pawlVersion } from '../core/version.ts';
import type { RunSnapshot } from '../stores/store.ts';
import { checkRunId } from './checks.ts';
import { type ForeignState, runProblem } from './frame-shape.ts';
import { senseProblem } from './sense.ts';

/**
 * The snapshot in the form of this version: upgraded when it is older, and without what no machine reads. The value
 * itself stays as it is. @throws PawlError `snapshot_incompatible`, which names the place
 */
export function checkSnapshot(
  value: unknown,
  chain: Upgrades = upgrades,
): {
  readonly snapshot: RunSnapshot;
  readonly runId: string;
} {
  const version = versionOf(value);
  if (version === null || !isJsonObject(value)) {
    throw new PawlError(
      'snapshot_incompatible',
      'snapshot: expected a snapshot of a run (what run.snapshot() gave, with its context.schemaVersion), or a run id, got something else. It was left as it is.',
    );
  }
  if (value.status === 'stopped') {
    throw new PawlError(
      'snapshot_incompatible',
      'snapshot: expected one of a run that can go on, got one of an actor that was stopped (status). Persist an actor before it is stopped.',
    );
  }
  const misfit = jsonMisfit(value);
  if (misfit) throw unreadable(misfit);
  const newest: unknown = upgraded(value as unknown as RunSnapshot, chain);
  const problem = runProblem(newest);
  if (problem?.foreign) throw foreignState(problem.foreign, problem.path, version, chain);
  if (problem) throw unreadable(problem);
  const snapshot = framed(newest as RunSnapshot);
  const nonsense = senseProblem(snapshot);
  if (nonsense) throw unreadable(nonsense);
  const { settings } = snapshot.context as unknown as RunContext;
  return { snapshot, runId: readRunId(settings.runId) };
}

/** What XState reads of a machine's snapshot; anything else that a file holds stays out of it. */
function framed({ status, value, context, children, output, error }: RunSnapshot): RunSnapshot {
  return {
    status,
    value,
    historyValue: {},
    context,
    // Those of an actor that broke never go on.
    children: status === 'error' ? {} : children,
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
  };
}

function readRunId(runId: string): string {
  try {
    return checkRunId(runId);
  } catch {
    throw unreadable({ path: 'context.settings.runId', expected: 'the id of a run', got: runId });
  }
}

export const unreadable = ({ path, expected, got }: ShapeProblem): PawlError =>
  new PawlError(
    'snapshot_incompatible',
    `snapshot: expected ${expected} at ${path || 'its top'}, got ${describeGot(got)}. It was left as it is.`,
  );

const foreignState = (
  { machine, state }: ForeignState,
  path: string,
  version: number,
  { to }: Upgrades,
): PawlError =>
  new PawlError(
    'snapshot_incompatible',
    `snapshot: ${machine} is in the state ${JSON.stringify(state)} (${path}), which it does not have in Pawl ${pawlVersion}. The snapshot is of schema version ${version}, this Pawl is at ${to}. Resume the run with the version of Pawl that saved it, or a newer one. It was left as it is.`,
  );
