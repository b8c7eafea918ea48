import { describe, expect, it } from 'vitest';
import { plain } from '../../src/cli/paint.ts';
import { rehearse } from '../../src/cli/rehearse.ts';
import { rehearsalLines } from '../../src/cli/rehearse-command.ts';
import type { SavedRun } from '../../src/stores/store.ts';
import { sendMail, storeWithRun, wantsMail } from './stored-kit.ts';

async function waitingRun(): Promise<SavedRun> {
  const saved = await (await storeWithRun([wantsMail])).load('mail');
  if (!saved) throw new Error('There is no run.');
  return saved;
}

const archive = {
  name: 'archive',
  effect: 'once',
  maxCalls: null,
  maxRetries: 0,
  maxCostMicros: 0,
  isRepeatable: false,
} as const;

describe('a rehearsal', () => {
  it('says that a run waits for a person', async () => {
    expect(rehearse(await waitingRun(), [sendMail()])).toEqual({
      runId: 'mail',
      verdict: 'waits',
      notes: ['executeTools.waiting, turn 1, for approval of send_mail'],
    });
  });

  it('says that a run resumes', async () => {
    const saved = await waitingRun();
    const running = { ...saved, head: { ...saved.head, waits: [], state: 'callModel' } };
    expect(rehearse(running, [sendMail()])).toMatchObject({
      verdict: 'resumes',
      notes: ['callModel, turn 1'],
    });
  });

  it.each([
    ['is gone', [], 'the tool send_mail is gone, and an open call wants it'],
    [
      'has another effect',
      [sendMail('read')],
      'the tool send_mail was once and is read now, and an open call wants it',
    ],
  ])('says that the tool of an open call %s', async (_name, tools, note) => {
    expect(rehearse(await waitingRun(), tools)).toEqual({
      runId: 'mail',
      verdict: 'needs',
      notes: [note],
    });
  });

  it('notes a tool that is gone where no open call wants it', async () => {
    const saved = await waitingRun();
    const settings = { ...saved.settings, tools: [...saved.settings.tools, archive] };
    expect(rehearse({ ...saved, settings }, [sendMail()])).toMatchObject({
      verdict: 'waits',
      notes: [expect.any(String), 'the tool archive is gone'],
    });
  });

  it.each<[string, (checkpoint: Record<string, unknown>) => void, string]>([
    [
      'a newer schema',
      (checkpoint) => {
        Object.assign(checkpoint.context as object, { schemaVersion: 99 });
      },
      'expected schema version 1, got 99',
    ],
    [
      'a state that the machine does not have',
      (checkpoint) => {
        checkpoint.value = { active: 'daydream' };
      },
      'in a state that it has',
    ],
  ])('refuses %s', async (_name, change, words) => {
    const saved = structuredClone(await waitingRun());
    change(saved.checkpoint as Record<string, unknown>);
    const { verdict, notes } = rehearse(saved, [sendMail()]);
    expect(verdict).toBe('needs');
    expect(notes.join()).toContain(words);
  });

  it('is shown with what else there is to know below it', () => {
    const notes = ['callModel, turn 1', 'the tool archive is gone'];
    expect(rehearsalLines({ runId: 'mail', verdict: 'resumes', notes }, plain)).toEqual([
      '  ✓ mail resumes in callModel, turn 1',
      '      the tool archive is gone',
    ]);
  });
});
