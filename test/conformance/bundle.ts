/** Makes one file of the process for runs: Node loads it several times faster than its sources. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));
const entry = fileURLToPath(new URL('processes/host.ts', import.meta.url));

let bundled: Promise<string> | null = null;

/** The path of the file. It is made at the first call, once. */
export async function bundleOnce(): Promise<string> {
  bundled ??= bundle();
  return join(await bundled, 'host.js');
}

/** Takes the file away again. */
export async function removeBundle(): Promise<void> {
  if (bundled !== null) rmSync(await bundled, { recursive: true, force: true });
  bundled = null;
}

async function bundle(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-conformance-'));
  await build({
    root,
    // It knows where the package is under its own name.
    configFile: join(root, 'vitest.config.ts'),
    logLevel: 'error',
    publicDir: false,
    ssr: { noExternal: true, external: ['@photostructure/sqlite'] },
    build: { ssr: entry, outDir: folder, target: 'node20', minify: false },
  });
  // What stays outside, a package with a binary of its own, is found where the project has it.
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir');
  return folder;
}
