/** The programs that the harness starts by the dozen, each as one script of plain JavaScript: quick to start. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const place = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const programs = ['life', 'racer'] as const;
export type Program = (typeof programs)[number];

let built: Promise<string> | null = null;

/** Built at the first call, once in a process. `removePrograms` takes them away. */
export async function scriptOf(program: Program): Promise<string> {
  built ??= buildPrograms();
  return join(await built, `${program}.js`);
}

export async function removePrograms(): Promise<void> {
  if (built !== null) rmSync(await built, { recursive: true, force: true });
  built = null;
}

async function buildPrograms(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-programs-'));
  await build({
    configFile: false,
    root: place('../..'),
    logLevel: 'error',
    publicDir: false,
    ssr: { noExternal: true, external: ['@photostructure/sqlite'] },
    build: {
      ssr: true,
      outDir: folder,
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(programs.map((name) => [name, place(`./processes/${name}.ts`)])),
      },
    },
  });
  // What stays outside, a package with a binary of its own, is found where the project has it.
  symlinkSync(place('../../node_modules'), join(folder, 'node_modules'), 'dir');
  return folder;
}
