import { describe, expect, it } from 'vitest';
import type { Asked, Person } from '../../src/cli/ask.ts';
import { plain } from '../../src/cli/paint.ts';
import { untilElsewhere } from '../../src/cli/until-elsewhere.ts';
import { createAgent } from '../../src/runtime/agent.ts';
import { scriptedModel } from '../../src/testing/scripted-model.ts';
import { sendMail, wantsMail } from './stored-kit.ts';

async function waitingRun() {
  const model = scriptedModel([wantsMail, 'Done.']);
  const run = createAgent({ model, tools: [sendMail()] }).start('Mail Ada.');
  await run.idle();
  const isOpen = (): boolean => run.pending.length > 0;
  return { run, isOpen };
}

function somebody(signal: AbortSignal = new AbortController().signal) {
  const said: string[] = [];
  const person: Person = {
    terminal: { say: (line = '') => void said.push(line), paint: plain },
    readLine: async () => ({ kind: 'closed' }),
    onInterrupt: () => {},
    signal,
  };
  return { person, said };
}

/** A prompt that nobody answers; it is over when it is taken back. */
const unanswered = ({ signal }: Person): Promise<Asked> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('left'), { once: true });
  });

describe('a question', () => {
  it('is taken back when it is decided elsewhere', async () => {
    const { run, isOpen } = await waitingRun();
    const { person, said } = somebody();
    const asked = untilElsewhere(run, isOpen, person, unanswered);
    const [call] = run.pending;
    await run.approve(call?.callId ?? '');
    expect(await asked).toBe('decided');
    expect(said).toEqual(['      This was decided elsewhere.']);
    expect(await run.result).toMatchObject({ status: 'completed' });
  });

  it('is not asked when it is decided already', async () => {
    const { run } = await waitingRun();
    const ask = () => Promise.reject(new Error('asked'));
    expect(await untilElsewhere(run, () => false, somebody().person, ask)).toBe('decided');
    run.cancel();
  });

  it('is left when the person leaves it', async () => {
    const { run, isOpen } = await waitingRun();
    const { person, said } = somebody();
    expect(await untilElsewhere(run, isOpen, person, async () => 'left')).toBe('left');
    expect(said).toEqual([]);
    run.cancel();
  });

  it('needs no answer any more once the process has to end', async () => {
    const { run, isOpen } = await waitingRun();
    const controller = new AbortController();
    const asked = untilElsewhere(run, isOpen, somebody(controller.signal).person, unanswered);
    controller.abort();
    expect(await asked).toBe('decided');
    run.cancel();
  });
});
