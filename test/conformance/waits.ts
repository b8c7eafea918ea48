import { pause } from './happenings.ts';
import type { Seat, Stage } from './stage.ts';
import { hostOf } from './stage.ts';

const quietMs = 150;

/**
 * Resolves once what `wait.for` names has happened. Rejects with the signal's reason.
 * @returns why it can't happen any more, or null.
 */
export async function waitFor(
  stage: Stage,
  seat: Seat,
  what: string,
  signal: AbortSignal,
): Promise<string | null> {
  const [kind = '', id] = what.split(/:(.*)/s);
  switch (kind) {
    case 'ms':
      return pause(Number(id), signal).then(() => null);
    case 'settled':
      return settled(stage, seat, signal).then(() => null);
    case 'quiet':
      return quiet(stage, seat, signal).then(() => null);
    case 'awaiting_approval': {
      if (seat.refusal) return `the run was refused: ${seat.refusal.message}`;
      const host = await hostOf(stage, seat);
      return host.ask('awaitingApproval', id === undefined ? {} : { id }, signal);
    }
    default:
      return stage.happenings.until(what, signal).then(() => null);
  }
}

async function settled(stage: Stage, seat: Seat, signal: AbortSignal): Promise<void> {
  if (!seat.refusal) await (await hostOf(stage, seat)).ask('settled', null, signal);
}

async function quiet(stage: Stage, seat: Seat, signal: AbortSignal): Promise<void> {
  for (;;) {
    await settled(stage, seat, signal);
    const leftMs = quietMs - stage.happenings.quietMs();
    if (leftMs <= 0) return;
    await pause(leftMs, signal);
  }
}
