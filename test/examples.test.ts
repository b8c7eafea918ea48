import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startScriptedServer } from 'pawl/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const execute = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));

/** Each example, and lines that it prints, in this order. */
const printed: Readonly<Record<string, readonly string[]>> = {
  '01-hello.ts': ['Hello, Ada.', 'completed: 1 model call'],
  '02-tools.ts': [
    "started  toolu_1 { city: 'Oslo' }",
    'progress toolu_1 asking the station in Oslo',
    "started  toolu_2 { city: 'Lisbon' }",
    'settled  toolu_1 {"city":"Oslo","celsius":-4}',
    'Oslo is colder: -4 °C against 21 °C.',
  ],
  '03-approval.ts': [
    "waiting: mail_ada { to: 'ada@example.org', body: 'Green!' }",
    "waiting: mail_bob { to: 'bob@example.org', body: 'Green!' }",
    'sending to ada@example.org: Green!',
    'told: mail_ada Sent.',
    'told: mail_bob Denied by a person: Bob is on holiday.',
    'Ada knows. Bob is on holiday.',
  ],
  '04-budget.ts': [
    'stop: exhausted after 2 model calls, 0.004 US dollars',
    'The limit maxCostUsd was reached',
    'wrapUp: exhausted after 3 model calls',
    'I have read 2 pages.',
    'waiting in awaitBudget',
    'ask: completed after 5 model calls',
    'I have read 4 pages.',
  ],
  '05-steering.ts': [
    'result: ["The door squeaks","The lamp flickers"]',
    'steered: Only the newest one, please.',
    'The newest ticket: the door squeaks.',
  ],
  '06-resume/a-start.ts': ["waiting: deploy { version: '2.0.0' }", 'suspended, saved in '],
  '06-resume/b-resume.ts': [
    "still waiting: deploy { version: '2.0.0' }",
    'result: Version 2.0.0 is live.',
    'Done: 2.0.0 is live. (2 model calls in both processes)',
  ],
  '07-plain-actor.ts': [
    'actor: modelCall',
    'state: {"active":"callModel"}',
    'actor: tool.delete_41',
    'approving: delete_41',
    'state: "completed"',
    'completed in 2 turns: Build 41 is deleted.',
  ],
  '08-child-machine.ts': [
    'newspaper: write',
    'newspaper: printed',
    'headline: Local Door No Longer Squeaks',
  ],
  '09-ninety-line-agent.ts': [
    'multiply { a: 1234, b: 567 }',
    '= 699678',
    'divide { a: 699678, b: 8 }',
    '= 87459.75',
    '= Sunday',
    '! The product is 699678, the quotient 87459.75, and the day a Sunday.',
    'round { value: 87459.75 }',
    '= 87460',
    '! Rounded, it is 87460.',
  ],
  '10-real-model.ts': ['No key, so no call. Try: ANTHROPIC_API_KEY='],
};

let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'pawl-examples-'));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** Rejects unless the example ends with exit code 0. */
async function play(name: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('ANTHROPIC_'));
  const env = { ...Object.fromEntries(inherited), TMPDIR: scratch, TEMP: scratch, ...environment };
  const args = ['--import', 'tsx', join('examples', name)];
  const { stdout, stderr } = await execute(process.execPath, args, { cwd: project, env });
  expect(stderr).toBe('');
  return stdout;
}

function expectInOrder(output: string, lines: readonly string[]): void {
  let from = 0;
  for (const line of lines) {
    const at = output.indexOf(line, from);
    expect(at, `${JSON.stringify(line)} after character ${from} of:\n${output}`).not.toBe(-1);
    from = at + line.length;
  }
}

describe.concurrent('the examples', () => {
  const alone = Object.keys(printed).filter((name) => !name.startsWith('06-resume/'));

  it.each(alone)('%s runs without a key and prints what it says', async (name) => {
    expectInOrder(await play(name), printed[name] ?? []);
  });

  it('06-resume goes on in another process with what the first one saved', async () => {
    for (const name of ['06-resume/a-start.ts', '06-resume/b-resume.ts']) {
      expectInOrder(await play(name), printed[name] ?? []);
    }
  });

  it('10-real-model.ts streams an answer when there is a key', async () => {
    const server = await startScriptedServer(['A catch for a wheel.']);
    const environment = { ANTHROPIC_API_KEY: 'not-a-key', ANTHROPIC_BASE_URL: server.url };
    const output = await play('10-real-model.ts', environment).finally(() => server.close());
    expectInOrder(output, ['A catch for a wheel.\n', 'completed (The model gave its answer.)']);
  });
});

describe('the example files', async () => {
  const entries = await readdir(join(project, 'examples'), { recursive: true });
  const files = entries
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replaceAll('\\', '/'));

  it('are all run by this test', () => {
    const run = [...Object.keys(printed), '06-resume/agent.ts'];
    expect(files.toSorted()).toEqual(run.toSorted());
  });

  it.each(files)('%s is under 60 lines, with two lines of header', async (name) => {
    const lines = (await readFile(join(project, 'examples', name), 'utf8')).split('\n');
    expect(lines.length).toBeLessThan(60);
    expect(lines.slice(0, 3).map((line) => line.startsWith('// '))).toEqual([true, true, false]);
    expect(lines[1]).toMatch(/^\/\/ Prints /);
  });
});
