import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll } from 'vitest';
import { programsFrom } from '../programs.ts';

const programs = programsFrom({
  pawl: 'src/cli/main.ts',
  'define-tool': 'src/tools/define-tool.ts',
});

/** The command as one script. */
export const cliScript = (): Promise<string> => programs.scriptOf('pawl');

/** Where a file of tools for the command imports `defineTool` from. */
export const defineToolUrl = async (): Promise<string> =>
  pathToFileURL(await programs.scriptOf('define-tool')).href;

afterAll(programs.remove);

/** Where commands run that need no folder of their own: each leaves a store behind. */
const ownFolder = mkdtempSync(join(tmpdir(), 'pawl-spawn-'));
process.once('exit', () => rmSync(ownFolder, { recursive: true, force: true }));

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly folder?: string;
  /** Written to standard input, which is closed then. Null: a null device. */
  readonly input?: string | null;
  /** Sent once the text appears on stderr. */
  readonly signal?: { readonly name: NodeJS.Signals; readonly after: string };
  /** Stop reading stdout after its first bytes, as `head` does. */
  readonly isReadOnce?: boolean;
}

export interface CliEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `pawl` from the sources, without a terminal and with nothing of this process's environment but the paths. */
export async function pawl(args: readonly string[], options: CliOptions = {}): Promise<CliEnd> {
  const { env = {}, folder = ownFolder, input = null, signal, isReadOnce = false } = options;
  const child = spawn(process.execPath, [await cliScript(), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...env },
    stdio: [input === null ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);
  const output = { stdout: '', stderr: '' };
  let isSent = false;
  child.stdout?.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString('utf8');
    if (isReadOnce) child.stdout?.destroy();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString('utf8');
    if (isSent || signal === undefined || !output.stderr.includes(signal.after)) return;
    isSent = true;
    child.kill(signal.name);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...output }));
  });
}

/** Lines of JSON, parsed. */
export const parseLines = (text: string): readonly Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
