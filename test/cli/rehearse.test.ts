import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createAgent, defineTool, memoryStore, remoteRun, sqliteStore, type Tool } from 'pawl';
import { scriptedModel } from 'pawl/testing';
import { describe, expect, it } from 'vitest';
import { plain } from '../../src/cli/paint.ts';
import { rehearse } from '../../src/cli/rehearse.ts';
import { rehearsalLines, rehearseCommand } from '../../src/cli/rehearse-command.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import type { OnInterrupted } from '../../src/core/tool-call.ts';
import { loadDriver } from '../../src/stores/sqlite-driver.ts';
import type { SavedRun } from '../../src/stores/store.ts';
import { gate } from '../runtime/run-kit.ts';
import { inForeignState } from '../stores/foreign-state.ts';
import { pathMaker } from '../stores/sqlite-files.ts';
import { sendMail, storeWithRun, wantsMail } from './stored-kit.ts';

async function waitingRun(): Promise<SavedRun> {
  const saved = await (await storeWithRun([wantsMail])).load('mail');
  if (!saved) throw new Error('There is no run.');
  return saved;
}

/** A run whose process died while the mail was being sent. */
async function interruptedRun(onInterrupted: OnInterrupted): Promise<SavedRun> {
  const store = memoryStore();
  const begun = gate<void>();
  const tool = defineTool({
    name: 'send_mail',
    description: 'Sends a mail.',
    input: { type: 'object' },
    effect: 'once',
    onInterrupted,
    run: () => {
      begun.open();
      return new Promise<never>(() => {});
    },
  });
  const permissions = { otherwise: 'allow' } as const;
  const agent = createAgent({
    model: scriptedModel([wantsMail]),
    tools: [tool],
    store,
    permissions,
  });
  const run = agent.start('Mail Ada.', { runId: 'mail' });
  await begun.passed;
  await run.suspend();
  const saved = await store.load('mail');
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
  onInterrupted: 'ask' as const,
} as const;

describe('a rehearsal', () => {
  it('says that a run waits for a person', async () => {
    expect(rehearse(await waitingRun(), [sendMail()])).toEqual({
      runId: 'mail',
      verdict: 'waits',
      needs: ['person'],
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
      needs: ['tool'],
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
      '"active.daydream" (value), which it does not have in Pawl',
    ],
  ])('refuses %s', async (_name, change, words) => {
    const saved = structuredClone(await waitingRun());
    change(saved.checkpoint as Record<string, unknown>);
    const { verdict, needs, notes } = rehearse(saved, [sendMail()]);
    expect(verdict).toBe('needs');
    expect(needs).toEqual(['version']);
    expect(notes.join()).toContain(words);
  });

  it('says that a run waits for a higher limit', async () => {
    const store = await storeWithRun([wantsMail], {
      permissions: { allow: ['send_mail'] },
      budget: { maxTurns: 1 },
      onLimit: 'ask',
    });
    const saved = await store.load('mail');
    expect(saved && rehearse(saved, [sendMail()])).toMatchObject({
      verdict: 'waits',
      needs: ['budget'],
      notes: ['awaitBudget, turn 1, for a higher limit'],
    });
  });

  it('says that a run resumes that was told what it waits for', async () => {
    const saved = await waitingRun();
    const told = new Map([['toolu_1', 'approved']] as const);
    expect(rehearse(saved, [sendMail()], { told })).toMatchObject({
      verdict: 'resumes',
      needs: [],
      notes: ['executeTools.waiting, turn 1', 'send_mail was approved, which it hears then'],
    });
  });

  const looksUp = { ...sendMail(), probe: () => ({ happened: false }) };
  it.each<[string, OnInterrupted, Tool, string]>([
    ['a person is asked', 'ask', sendMail(), 'a person is asked whether it acted'],
    [
      'the model is told',
      'report',
      sendMail(),
      'the model is told that nobody knows whether it acted',
    ],
    [
      'its probe is asked',
      'ask',
      looksUp,
      'its probe is asked whether it acted, and if that is not known, a person is asked whether it acted',
    ],
  ])('says of a call that was under way that %s', async (_name, onInterrupted, tool, note) => {
    const saved = await interruptedRun(onInterrupted);
    expect(rehearse(saved, [tool])).toMatchObject({
      verdict: 'resumes',
      notes: ['executeTools.working, turn 1', `send_mail was under way: ${note}`],
    });
  });

  it('is shown with what else there is to know below it', () => {
    const notes = ['callModel, turn 1', 'the tool archive is gone'];
    expect(rehearsalLines({ runId: 'mail', verdict: 'resumes', notes }, plain)).toEqual([
      '  ✓ mail resumes in callModel, turn 1',
      '      the tool archive is gone',
    ]);
  });
});

/** A terminal that keeps what it is given. */
function keptTerminal() {
  const written: string[] = [];
  const terminal: Terminal = {
    mayAsk: false,
    showsAnswer: false,
    paint: plain,
    dataPaint: plain,
    say: (line = '') => void written.push(`${line}\n`),
    write: (text) => void written.push(text),
    flush: () => Promise.resolve(),
  };
  return { terminal, written };
}

describe('pawl rehearse', () => {
  const newPath = pathMaker();

  /** Four runs, each of which needs something else, and one that has ended. */
  async function filledFile(): Promise<string> {
    const path = newPath();
    const store = sqliteStore(path);
    const foreign = inForeignState(store);
    const other = defineTool({
      name: 'archive',
      description: 'Archives.',
      input: { type: 'object' },
      effect: 'once',
      run: () => 'Done.',
    });
    for (const [runId, kept, tool] of [
      ['waits', store, sendMail()],
      ['foreign', foreign, sendMail()],
      ['toolless', store, other],
      ['told', store, sendMail()],
      ['ended', store, sendMail()],
    ] as const) {
      const replies = runId === 'ended' ? ['Ok.'] : [{ toolUses: [{ name: tool.name }] }];
      const agent = createAgent({ model: scriptedModel(replies), tools: [tool], store: kept });
      const run = agent.start('Go.', { runId });
      if ((await run.idle()) === 'waiting') await run.suspend();
    }
    await remoteRun(store, 'told').deny('toolu_1', 'No.');
    await store.close();
    return path;
  }

  it('says of each unfinished run what it needs, and changes nothing', async () => {
    const path = await filledFile();
    const { terminal, written } = keptTerminal();
    const tools = toolsFile(sendMailModule);
    const place = { file: path, folder: dirname(path) };
    const code = await rehearseCommand({ store: path, tools, json: true }, terminal, place);
    expect(code).toBe(1);
    const rehearsals = written
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'rehearsal')
      .map(({ runId, verdict, needs }) => [runId, verdict, needs]);
    expect(rehearsals.sort()).toEqual([
      ['foreign', 'needs', ['version']],
      ['told', 'resumes', []],
      ['toolless', 'needs', ['tool']],
      ['waits', 'waits', ['person']],
    ]);
    const store = sqliteStore(path);
    expect((await store.posted(['told'])).length).toBe(1);
    expect((await store.load('foreign'))?.head.status).toBe('waiting');
    await store.close();
  });

  it('names a damaged run, and rehearses the others', async () => {
    const path = await filledFile();
    const { DatabaseSync } = await loadDriver();
    const database = new DatabaseSync(path);
    database.exec(`UPDATE begins SET settings = '{}' WHERE run = 1`);
    database.close();
    const { terminal, written } = keptTerminal();
    const place = { file: path, folder: dirname(path) };
    const tools = toolsFile(sendMailModule);
    expect(await rehearseCommand({ store: path, tools }, terminal, place)).toBe(1);
    const text = written.join('');
    expect(text).toContain('settings of run "waits" is damaged');
    expect(text).toContain('✓ told resumes in executeTools.waiting, turn 1');
    expect(text).toContain("4 unfinished runs; 3 can't go on like this.");
  });

  const sendMailModule = `export default [{
    name: 'send_mail', effect: 'once', probe: null, run: () => 'sent', parse: async (value) => ({ ok: true, value }),
  }];`;

  function toolsFile(text: string): string {
    const path = `${newPath()}.mjs`;
    writeFileSync(path, text);
    return path;
  }
});
