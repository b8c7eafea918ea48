/** Stored runs by hand, end to end: each command is a process of its own, and the store is all that they share. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ScriptedRequest } from '../../src/testing/script.ts';
import { type ScriptedServer, startScriptedServer } from '../../src/testing/scripted-server.ts';
import { type CliEnd, type CliOptions, defineToolUrl, parseLines, pawl } from './spawn-cli.ts';

// Each test starts processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

/** Each body notes that it began, and goes on once there is a file `go`. */
const toolsSource = `
import { appendFileSync, existsSync } from 'node:fs';
import { defineTool } from ${JSON.stringify(await defineToolUrl())};
const tool = (name, effect) => defineTool({
  name, effect, description: 'Does something.', input: { type: 'object' },
  run: async (_input, { signal }) => {
    appendFileSync('began', name + '\\n');
    while (!existsSync('go')) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return name + ' is done';
  },
});
export default [tool('look', 'read'), tool('send', 'once')];
`;

const asksFor =
  (tool: string) =>
  ({ body }: ScriptedRequest) =>
    JSON.stringify(body.messages).includes('tool_result')
      ? 'All done.'
      : { toolUses: [{ name: tool, input: { to: 'ada' } }] };

const servers: ScriptedServer[] = [];
const folders: string[] = [];
afterAll(async () => {
  for (const server of servers) await server.close();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

/** A folder of its own for each test, as they run side by side. */
async function newPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-durable-'));
  folders.push(folder);
  await writeFile(join(folder, 'tools.mjs'), toolsSource);
  const here = (args: readonly string[], options: CliOptions = {}): Promise<CliEnd> =>
    pawl(args, { folder, ...options });
  return {
    folder,
    here,
    go: () => writeFile(join(folder, 'go'), ''),
    /** Bodies of tools, in the order in which they began. */
    began: async () => (await readFile(join(folder, 'began'), 'utf8')).trimEnd().split('\n'),
    /** The newest run, as `pawl runs --json` has it. */
    newestRun: async () => {
      const [run] = parseLines((await here(['runs', '--json'])).stdout);
      if (run === undefined) throw new Error('There is no run.');
      return { ...run, id: String(run.runId).slice(4, 12) };
    },
  };
}

let withLook: Readonly<Record<string, string>>;
let withSend: Readonly<Record<string, string>>;
beforeAll(async () => {
  const envOf = async (tool: string) => {
    const server = await startScriptedServer(asksFor(tool));
    servers.push(server);
    return { ANTHROPIC_API_KEY: 'sk-test-0123456789', ANTHROPIC_BASE_URL: server.url };
  };
  withLook = await envOf('look');
  withSend = await envOf('send');
});

const lastLine = ({ stdout }: CliEnd) => parseLines(stdout).at(-1) ?? {};
const toolsToo = ['--tools', 'tools.mjs'];

describe.concurrent('a run that waits for a person', () => {
  it('is kept for this user alone, listed, shown and explained', async () => {
    const { folder, here, newestRun } = await newPlace();
    const run = await here(['run', '--ask', '--tag', 'demo']);
    expect(run.code).toBe(4);
    const { id } = await newestRun();
    expect(run.stderr).toContain(`pawl approve ${id} toolu_1\n`);
    expect(run.stderr).toContain(`then go on: pawl resume ${id} --ask\n`);
    expect((await stat(join(folder, '.pawl'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, '.pawl/runs.db'))).mode & 0o777).toBe(0o600);

    const list = await here(['runs', '--status', 'waiting', '--tag', 'demo']);
    expect(list.stdout).toMatch(
      new RegExp(`${id} +waiting +executeTools\\.waiting +1 +pawl-demo .*approval of multiply`),
    );
    expect((await here(['runs', '--tag', 'other'])).stdout).toBe('');

    const shown = await here(['show', id]);
    expect(shown.stdout).toContain('  › Multiply 1234 by 567');
    expect(shown.stdout).toMatch(/call toolu_1 · hash [0-9a-f]{64}\n/);
    const why = await here(['why', id]);
    expect(why.stdout).toMatch(/wantsTools +yes +2 calls\n +→ executeTools/);
    const replay = await here(['replay', id]);
    expect(replay.stdout).toMatch(
      /played again from turn 1: 1 turn, \d+ events, 1 model reply and 0 tool results from the store\n +✓ Every step/,
    );
    expect(replay.code).toBe(0);
  });

  it('goes on after somebody decided in another process', async () => {
    const { here, newestRun } = await newPlace();
    await here(['run', '--ask']);
    const { id } = await newestRun();
    const unnamed = await here(['approve', id]);
    expect(unnamed).toMatchObject({ code: 2, stderr: expect.stringContaining('toolu_1, toolu_2') });
    const approved = await here(['approve', id, 'toolu_1']);
    expect(approved.stderr).toContain('"a": 1234');
    expect(approved.stderr).toContain(`Go on with: pawl resume ${id}`);
    expect(approved.code).toBe(0);
    const again = await here(['approve', id, 'toolu_1']);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('already') });
    expect((await here(['approve', id])).code).toBe(0);

    const resumed = await here(['resume', id]);
    expect(resumed.stdout).toMatch(/^1234 × 567 = 699678\..* Today is \w+day\.\n$/);
    expect(resumed.code).toBe(0);
    expect(await newestRun()).toMatchObject({ id, status: 'completed', turn: 3 });
  });

  it('is branched, pruned and deleted once it has ended', async () => {
    const { here, newestRun } = await newPlace();
    expect((await here(['run'])).code).toBe(0);
    const { id } = await newestRun();
    const after = await here(['why', id, '--at', '1']);
    expect(after.stdout).toMatch(/isOverBudget +no +turns 0 of 50/);
    const fork = await here(['fork', id, '--at', '2', '--json']);
    expect(lastLine(fork)).toMatchObject({ code: 0, result: { status: 'completed' } });
    expect(await newestRun()).toMatchObject({ forkOf: { turn: 2 }, status: 'completed' });

    const step = await here(['show', id, '--at', '1', '--json']);
    expect(parseLines(step.stdout)[0]).toMatchObject({ saveVersion: 1, state: 'callModel' });
    const pruned = await here(['prune', '--older-than', '0', '--keep-turns', '0', '--json']);
    expect(lastLine(pruned).reason).toContain('Dropped 5 turns');
    expect(await here(['fork', id, '--at', '2'])).toMatchObject({ code: 2 });
    expect((await here(['delete', id])).code).toBe(0);
    expect(await here(['show', id])).toMatchObject({ code: 2, stdout: '' });
  });

  it('remembers a denial that an earlier process heard', async () => {
    const { here, newestRun } = await newPlace();
    await here(['run', '--ask']);
    const { id } = await newestRun();
    expect((await here(['deny', id, 'toolu_1'])).code).toBe(0);
    expect((await here(['resume', id, '--ask'])).code).toBe(4);
    expect((await here(['approve', id, 'toolu_2'])).code).toBe(0);
    expect((await here(['resume', id, '--yes'])).code).toBe(8);
  });

  it('is denied, steered and cancelled from outside', async () => {
    const { here, newestRun } = await newPlace();
    await here(['run', 'Go.', ...toolsToo], { env: withSend });
    const { id } = await newestRun();
    expect((await here(['steer', id, 'Be brief.'])).code).toBe(0);
    expect((await here(['deny', id, '--reason', 'not today'])).code).toBe(0);
    const resumed = await here(['resume', id, ...toolsToo], { env: withSend });
    expect(resumed.stderr).toContain('Denied by a person: not today');
    expect(resumed.code).toBe(8);
    const { stdout } = await here(['show', id]);
    expect(stdout).toContain('› Be brief.');

    await here(['run', 'Go.', ...toolsToo], { env: withSend });
    const second = await newestRun();
    expect((await here(['cancel', second.id, '--reason', 'late'])).code).toBe(0);
    const ended = await here(['resume', second.id, ...toolsToo], { env: withSend });
    expect(ended.stderr).toContain('The run was cancelled: late');
    expect(ended.code).toBe(130);
    expect((await here(['cancel', second.id])).code).toBe(1);
  });

  it('runs with other arguments that a person gave, or with a yes to all', async () => {
    const { here, go, newestRun } = await newPlace();
    await go();
    await here(['run', 'Go.', ...toolsToo], { env: withSend });
    const { id } = await newestRun();
    expect((await here(['approve', id, '--input', '{to'])).code).toBe(2);
    const edited = await here(['approve', id, '--input', '{"to":"bob"}']);
    expect(edited.stderr).toContain('"to": "bob"');
    const resumed = await here(['resume', id, ...toolsToo], { env: withSend });
    expect(resumed.stderr).toContain('→ send {"to":"bob"}');
    expect(resumed.code).toBe(0);

    await here(['run', 'Go.', ...toolsToo], { env: withSend });
    const second = await newestRun();
    const yes = await here(['resume', second.id, ...toolsToo, '--yes'], { env: withSend });
    expect(yes).toMatchObject({ code: 0, stdout: 'All done.\n' });
  });

  it('is rehearsed against the tools of today', async () => {
    const { here, newestRun } = await newPlace();
    await here(['run', 'Go.', ...toolsToo], { env: withSend });
    const { id } = await newestRun();
    expect(await here(['rehearse', ...toolsToo])).toMatchObject({
      code: 0,
      stdout: `  ? ${id} waits in executeTools.waiting, turn 1, for approval of send\n`,
    });
    const without = await here(['rehearse']);
    expect(without.code).toBe(1);
    expect(without.stdout).toContain('the tool send is gone, and an open call wants it');
  });
});

describe.concurrent('one run and two processes', () => {
  it('goes on in one of them, and the other has done nothing', async () => {
    const { here, go, began, newestRun } = await newPlace();
    const killed = { name: 'SIGKILL', after: '→ look' } as const;
    await here(['run', 'Go.', ...toolsToo], { env: withLook, signal: killed });
    const { id } = await newestRun();
    const both = [1, 2].map(() => here(['resume', id, ...toolsToo], { env: withLook }));
    const first = await Promise.race(both);
    expect(first.stderr).toContain('is held by another process');
    expect(first.code).toBe(7);
    await go();
    const codes = (await Promise.all(both)).map(({ code }) => code);
    expect(codes.sort()).toEqual([0, 7]);
    expect(await began()).toEqual(['look', 'look']);
  });

  it('hears in one what the other tells it, and is not deleted under it', async () => {
    const { here, began, newestRun } = await newPlace();
    const gate = here(['run', 'Go.', ...toolsToo, '--yes'], { env: withSend });
    await vi.waitFor(began, { timeout: 60_000 });
    const { id } = await newestRun();
    expect((await here(['delete', id])).code).toBe(7);
    const told = await here(['cancel', id, '--reason', 'late']);
    expect(told.stderr).toContain('The process that runs it hears it within a second.');
    const { code, stderr } = await gate;
    expect(stderr).toContain('The run was cancelled: late');
    expect(code).toBe(130);
  });
});

describe.concurrent('a run that was killed in the middle of a tool', () => {
  const killed = (tool: string) => ({ name: 'SIGKILL', after: `→ ${tool}` }) as const;

  it('looks again where that changes nothing', async () => {
    const { here, go, newestRun } = await newPlace();
    const run = await here(['run', 'Go.', ...toolsToo], { env: withLook, signal: killed('look') });
    expect(run.code).toBeNull();
    const { id } = await newestRun();
    await go();
    const resumed = await here(['resume', id, ...toolsToo], { env: withLook });
    expect(resumed.stderr).toContain('→ look {"to":"ada"} (attempt 2)');
    expect(resumed).toMatchObject({ code: 0, stdout: 'All done.\n' });
  });

  it('asks a person where it must not act twice, and takes the answer', async () => {
    const { here, began, newestRun } = await newPlace();
    const signal = killed('send');
    await here(['run', 'Go.', ...toolsToo, '--yes'], { env: withSend, signal });
    const { id } = await newestRun();
    const left = await here(['resume', id, ...toolsToo, '--yes'], { env: withSend });
    expect(left.stderr).toContain('1 call waits for a person to say what it came to.');
    expect(left.code).toBe(5);
    expect((await here(['settle', id])).code).toBe(2);
    expect((await here(['settle', id, '--result', 'It was sent.'])).code).toBe(0);
    const resumed = await here(['resume', id, ...toolsToo], { env: withSend });
    expect(resumed.stderr).toContain('← send settled by a person · It was sent.');
    expect(resumed).toMatchObject({ code: 0, stdout: 'All done.\n' });
    expect(await began()).toEqual(['send']);
  });

  it('runs it again when a person says so', async () => {
    const { here, go, began, newestRun } = await newPlace();
    const signal = killed('send');
    await here(['run', 'Go.', ...toolsToo, '--yes'], { env: withSend, signal });
    const { id } = await newestRun();
    await here(['resume', id, ...toolsToo], { env: withSend });
    await go();
    expect((await here(['settle', id, '--retry'])).code).toBe(0);
    // Nobody approved it the first time, so the rules of today ask.
    const asked = await here(['resume', id, ...toolsToo], { env: withSend });
    expect(asked).toMatchObject({ code: 4 });
    expect(asked.stderr).toContain('1 call waits for a person to decide.');
    expect(await began()).toEqual(['send']);
    const resumed = await here(['resume', id, ...toolsToo, '--yes'], { env: withSend });
    expect(resumed.code).toBe(0);
    expect(await began()).toEqual(['send', 'send']);
  });
});

describe.concurrent('a run that was stopped', () => {
  it('goes on after SIGTERM from where its turn ended', async () => {
    const { here, go, began, newestRun } = await newPlace();
    await go();
    const signal = { name: 'SIGTERM', after: 'turn 1' } as const;
    const run = await here(['run', 'Go.', ...toolsToo], { env: withLook, signal });
    expect(run.code).toBe(130);
    const { id } = await newestRun();
    expect(run.stderr).toContain(`Go on: pawl resume ${id} --tools tools.mjs\n`);
    const resumed = await here(['resume', id, ...toolsToo], { env: withLook });
    expect(resumed).toMatchObject({ code: 0, stdout: 'All done.\n' });
    expect(await began()).toEqual(['look']);
  });

  it('goes on with a higher limit once it was exhausted', async () => {
    const { here, newestRun } = await newPlace();
    const run = await here(['run', '--max-turns', '2']);
    expect(run.code).toBe(3);
    const { id } = await newestRun();
    expect(run.stderr).toContain(`pawl resume ${id} --max-turns 4\n`);
    expect((await here(['resume', id])).code).toBe(3);
    expect((await here(['resume', id, '--max-turns', '4'])).code).toBe(0);
  });
});

describe.concurrent('what can not be done', () => {
  it.each([
    ['a store that is not there', ['runs', '--store', 'none.db'], 'a file that exists', 2],
    ['a file that is no store', ['runs', '--store', 'tools.mjs'], 'Pawl store', 1],
    ['a run into a file that is no store', ['run', '--store', 'tools.mjs'], 'Pawl store', 1],
  ])('is %s', async (_name, args, words, code) => {
    const { folder, here } = await newPlace();
    const end = await here(args);
    expect(end.stderr).toContain(words);
    expect(end.stderr).not.toMatch(/\n\s+at /);
    expect(end.stdout).toBe('');
    expect(end.code).toBe(code);
    expect(await readFile(join(folder, 'tools.mjs'), 'utf8')).toBe(toolsSource);
  });

  it('is to go on with a real run without a key', async () => {
    const { here, newestRun } = await newPlace();
    await here(['run', 'Go.', ...toolsToo], { env: withSend });
    const { id } = await newestRun();
    const end = await here(['resume', id, ...toolsToo, '--json']);
    expect(lastLine(end)).toMatchObject({
      type: 'exit',
      code: 2,
      reason: expect.stringContaining('ANTHROPIC_API_KEY is not set'),
    });
  });
});
