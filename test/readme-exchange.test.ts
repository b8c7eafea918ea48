/** The README shows what the commands for stored runs print. They are run here, in its order, and print it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { cliScript, pawl } from './cli/spawn-cli.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'pawl-exchange-'));
const terminals: ChildProcess[] = [];

afterAll(() => {
  for (const terminal of terminals) terminal.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Shown {
  readonly command: string;
  readonly lines: readonly string[];
}

function exchangeIn(markdown: string): readonly Shown[] {
  const blocks = [...markdown.matchAll(/^```console\n(.*?)^```$/gms)].map(([, text = '']) => text);
  return blocks.flatMap((text) =>
    text
      .split(/^\$ npx pawl /m)
      .slice(1)
      .map((part) => {
        const [command = '', ...lines] = part.trimEnd().split('\n');
        return { command, lines: lines.filter((line) => line.trim() !== '…') };
      }),
  );
}

/** What differs from run to run, from machine to machine and from width to width of a column. */
const alike = (line: string): string =>
  stripVTControlCharacters(line)
    .replace(/(run_)?[0-9a-f]{8}-[0-9a-f-]{27}/g, 'RUN')
    .replace(/\b[0-9a-f]{8}\b/g, 'ID')
    .replace(/\(\d+ on \S+\)/g, '(PROCESS)')
    .replace(/hash [0-9a-f]+/g, 'hash HASH')
    .replace(/\d\d:\d\d:\d\d\.\d{3}/g, 'TIME')
    .replace(/\d+ (ms|s|min)\b/g, 'SPAN')
    .replace(/\d+ events/g, 'EVENTS')
    .replace(/ +/g, ' ')
    .trim();

function expectShown({ command, lines }: Shown, printed: string): void {
  const actual = printed.split(/\r?\n/).map(alike);
  let from = 0;
  for (const line of lines.map(alike)) {
    const at = actual.findIndex((own, index) => index >= from && own === line);
    expect(at, `pawl ${command}: ${line}\n\n${printed}`).toBeGreaterThanOrEqual(0);
    from = at + 1;
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** The command on a terminal. Resolves once it asks; what it prints is kept. */
async function onTerminal(args: readonly string[]) {
  const words = [process.execPath, await cliScript(), ...args];
  const line = `echo "pid=$$"; exec ${words.map(quoted).join(' ')}`;
  const child = spawn('script', ['-qfec', `sh -c ${quoted(line)}`, '/dev/null'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      TERM: 'xterm',
      NO_COLOR: '1',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  terminals.push(child);
  let printed = '';
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8');
      if (printed.includes('[y] run it')) resolve();
    });
    child.once('close', resolve);
  });
  return { printed: () => printed, ended, pid: Number(/pid=(\d+)/.exec(printed)?.[1]) };
}

/** A person is asked a moment before the question is durable. */
async function savedAsWaiting(): Promise<void> {
  let stdout = '';
  while (stdout === '') {
    ({ stdout } = await pawl(['runs', '--status', 'waiting'], { folder }));
  }
}

const isTerminalThere = spawnSync('script', ['--version']).error === undefined;

describe.skipIf(!isTerminalThere)('the exchange in the README', () => {
  it('is what the commands print, through a kill, two shells and a fork', async () => {
    const shown = exchangeIn(await readFile(join(project, 'README.md'), 'utf8'));
    const words = shown.map(({ command }) => command.split(' ')[0]);
    expect(words).toEqual(
      ['run', 'runs', 'show', 'approve', 'approve', 'resume', 'resume', 'approve'].concat(
        ...['why', 'fork', 'replay'],
      ),
    );
    const [run, ...rest] = shown as [Shown, ...Shown[]];
    const first = await onTerminal(run.command.split(' '));
    await savedAsWaiting();
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    expectShown({ ...run, lines: run.lines.slice(0, -1) }, first.printed());

    const list = await pawl(['runs', '--json'], { folder });
    const { runId } = JSON.parse(list.stdout.split('\n')[0] ?? '') as { readonly runId: string };
    const id = runId.slice('run_'.length, 'run_'.length + 8);
    let second: Awaited<ReturnType<typeof onTerminal>> | null = null;
    for (const each of rest) {
      const args = each.command.split(' ').map((word) => (/^[0-9a-f]{8}$/.test(word) ? id : word));
      if (args.includes('--ask')) {
        second = await onTerminal(args);
        expectShown(each, second.printed());
        continue;
      }
      const { code, stdout, stderr } = await pawl(args, { folder });
      expectShown(each, `${stderr}\n${stdout}`);
      expect(code).toBe(args[0] === 'resume' ? 7 : 0);
      if (args[2] === 'toolu_1_2') await second?.ended;
    }
    expect(second?.printed()).toContain('This was decided elsewhere.');
    expect(second?.printed()).toContain('that is 53821.38461538462. Today is Monday.');
  }, 180_000);
});
