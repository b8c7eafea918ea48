/** The code in the README is the first that anyone tries: it is compiled and run, and prints what is said there. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

const execute = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));

// Each test starts a process, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

interface Sample {
  readonly file: string;
  readonly code: string;
  /** The block of text that comes next, when there is one before the next code. */
  readonly printed: string | null;
}

const readme = await readFile(join(project, 'README.md'), 'utf8');
const samples = samplesIn(readme);

function samplesIn(markdown: string): readonly Sample[] {
  const blocks = [...markdown.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
    ([, language = '', code = '']) => ({ language, code }),
  );
  return blocks.flatMap(({ language, code }, index) => {
    if (language !== 'ts') return [];
    const next = blocks[index + 1];
    const printed = next?.language === 'text' ? next.code : null;
    return [{ file: `sample-${index}.ts`, code, printed }];
  });
}

describe('the code in the README', () => {
  let folder: string;
  // Within the project, so that the package is found by its name.
  beforeAll(async () => {
    folder = await mkdtemp(join(project, 'test', 'readme-'));
    const settings = { extends: '../../tsconfig.json', include: ['*.ts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    for (const { file, code } of samples) await writeFile(join(folder, file), code);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('is there, and says what it prints', () => {
    expect(samples.filter(({ printed }) => printed !== null)).not.toEqual([]);
  });

  it('compiles', async () => {
    const compiler = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
    const problems = await execute(process.execPath, [compiler, '-p', folder]).then(
      () => '',
      ({ stdout, stderr }) => stdout + stderr,
    );
    expect(problems).toBe('');
  });

  it.each(samples)('prints what is said there: $file', async ({ file, printed }) => {
    const env = { ...process.env, TSX_TSCONFIG_PATH: join(project, 'tsconfig.json') };
    const flags = ['--import', import.meta.resolve('tsx')];
    const options = { cwd: folder, env };
    const { stdout, stderr } = await execute(
      process.execPath,
      [...flags, join(folder, file)],
      options,
    );
    expect(stderr).toBe('');
    if (printed !== null) expect(stdout).toBe(printed);
  });

  it('is short enough to be read at once', () => {
    const [first] = samples;
    const lines = first?.code.split('\n').filter((line) => line.trim() !== '') ?? [];
    expect(lines.length).toBeLessThanOrEqual(18);
  });
});
