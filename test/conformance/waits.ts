import { pause, untilAborted, untilTrue } from './happenings.ts';
import { liveRuns, pendingOf, type Stage } from './stage.ts';

const quietMs = 150;

/**
 * Resolves once what `wait.for` names has happened. Rejects with the signal's reason.
 * @returns why it can't happen any more, or null.
 */
export async function waitFor(
  stage: Stage,
  what: string,
  signal: AbortSignal,
): Promise<string | null> {
  const [kind = '', id] = what.split(/:(.*)/s);
  switch (kind) {
    case 'ms':
      return pause(Number(id), signal).then(() => null);
    case 'settled':
      return settled(stage, signal).then(() => null);
    case 'quiet':
      return quiet(stage, signal).then(() => null);
    case 'awaiting_approval':
      return awaitingApproval(stage, id, signal);
    default:
      return stage.happenings.until(what, signal).then(() => null);
  }
}

/** Nothing runs: the run has ended or was refused, or somebody waits for a person. */
export async function settled(stage: Stage, signal: AbortSignal): Promise<void> {
  const { current, refusal } = stage;
  if (refusal || !current) return;
  const look = new AbortController();
  const looking = AbortSignal.any([signal, look.signal]);
  const doesChildWait = (): boolean =>
    liveRuns(stage).some(({ isChild, run }) => isChild && run.pending.length > 0);
  try {
    const waits = untilTrue(doesChildWait, looking);
    await untilAborted(signal, Promise.race([current.run.idle(), waits]));
  } finally {
    look.abort();
  }
}

async function quiet(stage: Stage, signal: AbortSignal): Promise<void> {
  for (;;) {
    await settled(stage, signal);
    const leftMs = quietMs - stage.happenings.quietMs();
    if (leftMs <= 0) return;
    await pause(leftMs, signal);
  }
}

async function awaitingApproval(
  stage: Stage,
  id: string | undefined,
  signal: AbortSignal,
): Promise<string | null> {
  const waits = (): boolean => pendingOf(stage).some((call) => id === undefined || call.id === id);
  if (id === undefined) await settled(stage, signal);
  else await untilTrue(() => waits() || isOver(stage), signal);
  return waits() ? null : 'the run has ended';
}

const isOver = ({ current, refusal }: Stage): boolean =>
  refusal !== null || current === null || current.ended !== null;
