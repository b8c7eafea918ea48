import type { Run } from '../runtime/run.ts';
import type { Asked, Person } from './ask.ts';

/**
 * Asks a person something that may be decided elsewhere meanwhile, in another terminal. The question is then taken back.
 */
export async function untilElsewhere(
  run: Run,
  isOpen: () => boolean,
  person: Person,
  ask: (person: Person) => Promise<Asked>,
): Promise<Asked> {
  if (!isOpen()) return 'decided';
  const over = new AbortController();
  void watch(run, isOpen, over);
  const asked = await ask({ ...person, signal: AbortSignal.any([person.signal, over.signal]) });
  const isElsewhere = over.signal.aborted && !person.signal.aborted;
  over.abort();
  if (asked === 'decided') return asked;
  if (isElsewhere) person.terminal.say('      This was decided elsewhere.');
  return isElsewhere || person.signal.aborted ? 'decided' : 'left';
}

/** Ends with the first event after the question is settled, which every decision makes. */
async function watch(run: Run, isOpen: () => boolean, over: AbortController): Promise<void> {
  for await (const _ of run.events) {
    if (over.signal.aborted) return;
    if (!isOpen()) return over.abort();
  }
  over.abort();
}
