/** Programs that tests start by the dozen, each as plain JavaScript in one place: Node loads that several times faster. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));

export interface Programs<Name extends string> {
  /** The path of the program's script. All are built at the first call, once. */
  scriptOf(name: Name): Promise<string>;
  /** Takes the scripts away again. */
  remove(): Promise<void>;
}

/** `sources`: the path of each program's source, from the project's root. */
export function programsFrom<Name extends string>(
  sources: Readonly<Record<Name, string>>,
): Programs<Name> {
  let built: Promise<string> | null = null;
  return {
    async scriptOf(name) {
      built ??= bundle(sources);
      return join(await built, `${name}.js`);
    },
    async remove() {
      if (built !== null) rmSync(await built, { recursive: true, force: true });
      built = null;
    },
  };
}

async function bundle(sources: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-programs-'));
  const input = Object.entries(sources).map(([name, source]) => [name, join(root, source)]);
  await build({
    root,
    // It knows where the package is under its own name.
    configFile: join(root, 'vitest.config.ts'),
    logLevel: 'error',
    publicDir: false,
    ssr: { noExternal: true, external: ['@photostructure/sqlite'] },
    build: {
      ssr: true,
      outDir: folder,
      target: 'node20',
      minify: false,
      rolldownOptions: { input: Object.fromEntries(input) },
    },
  });
  // What stays outside, a package with a binary of its own, is found where the project has it.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return folder;
}
