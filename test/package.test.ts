import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const project = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  readonly name: string;
  readonly bin?: Record<string, string>;
  readonly engines?: { readonly node?: string };
  readonly exports: Record<string, string | { readonly types: string; readonly default: string }>;
  readonly scripts?: Record<string, string>;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent?: readonly string[];
}

interface Lock {
  readonly packages: Record<
    string,
    { readonly dev?: boolean; readonly hasInstallScript?: boolean }
  >;
}

async function readJson<T>(...path: string[]): Promise<T> {
  return JSON.parse(await readFile(join(...path), 'utf8'));
}

/** Files below a folder, by path relative to `root` with `/`. */
async function listFiles(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const lists = entries.map((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? listFiles(root, path) : [path];
  });
  return (await Promise.all(lists)).flat();
}

const manifest = await readJson<Manifest>(project, 'package.json');

describe('the packed package', () => {
  const leftOut = new Set(['node_modules', '.git', 'dist', 'coverage']);
  let scratch: string;
  let built: string;

  // A copy of the whole project is built, so that what lies about in dist/ neither helps nor harms.
  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'pawl-package-'));
    built = join(scratch, 'built');
    for (const entry of await readdir(project)) {
      if (leftOut.has(entry)) continue;
      await cp(join(project, entry), join(built, entry), { recursive: true });
    }
    await symlink(join(project, 'node_modules'), join(built, 'node_modules'), 'junction');
    const compiler = join(project, 'node_modules', 'typescript', 'bin', 'tsc');
    await run(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: built }).catch(
      (failure) => expect.fail(`the build fails:\n${failure.stdout}`),
    );
  }, 60_000);
  afterAll(() => rm(scratch, { recursive: true, force: true }));

  async function packedFiles(): Promise<string[]> {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const { stdout } = await run('npm', args, { cwd: built, maxBuffer: 1e8 });
    const reports: Record<string, { files: { path: string }[] }> = JSON.parse(stdout);
    return Object.values(reports).flatMap(({ files }) => files.map(({ path }) => path));
  }

  it('holds the built code, the pictures and the documents, and nothing else', async () => {
    const sources = [...(await listFiles(built, 'src')), ...(await listFiles(built, 'machines'))];
    const code = sources
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `dist/${path.slice(0, -'.ts'.length)}`)
      .flatMap((path) => [`${path}.js`, `${path}.js.map`, `${path}.d.ts`]);
    const pictures = (await listFiles(built, 'visualizations')).filter((path) =>
      /\.(svg|mmd|json)$/.test(path),
    );
    const documents = ['ARCHITECTURE.md', 'CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];
    expect(pictures).not.toEqual([]);
    expect((await packedFiles()).sort()).toEqual([...code, ...pictures, ...documents].sort());
  });

  it('holds every file that its manifest points at', async () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : [target.types, target.default],
    );
    const pointedAt = [...targets, ...Object.values(manifest.bin ?? {})];
    const packed = (await packedFiles()).map((path) => `./${path}`);
    expect(packed).toEqual(expect.arrayContaining(pointedAt));
  });

  it('ships no source files, so each source map holds its own', async () => {
    const maps = (await packedFiles()).filter((path) => path.endsWith('.map'));
    expect(maps).not.toEqual([]);
    for (const path of maps) {
      const { sources, sourcesContent = [] } = await readJson<SourceMap>(built, path);
      expect([path, sourcesContent.length]).toEqual([path, sources.length]);
    }
  });

  it('has a command that a shell can start', async () => {
    const command = await readFile(join(built, manifest.bin?.[manifest.name] ?? ''), 'utf8');
    expect(command.startsWith('#!/usr/bin/env node\n')).toBe(true);
  });

  // require() refuses a module graph with a top-level await anywhere in it.
  it('can be loaded by require, at each of its entries', async () => {
    const modules = join(scratch, 'consumer', 'node_modules');
    await mkdir(modules, { recursive: true });
    await symlink(built, join(modules, manifest.name), 'junction');
    const entries = Object.keys(manifest.exports).map((key) => manifest.name + key.slice(1));
    const load = `for (const entry of ${JSON.stringify(entries)}) {
      console.log(entry, Object.keys(require(entry)).length > 0);
    }`;
    const { stdout } = await run(process.execPath, ['-e', load], { cwd: join(modules, '..') });
    expect(stdout.trim().split('\n')).toEqual(entries.map((entry) => `${entry} true`));
  });
});

describe('installing the package', () => {
  const hooks = ['preinstall', 'install', 'postinstall', 'prepare', 'dependencies'];

  /** Names of all packages a user gets, with those that our dependencies bring. */
  async function runtimePackages(): Promise<string[]> {
    const { packages } = await readJson<Lock>(project, 'package-lock.json');
    return Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true);
  }

  it('runs no script of ours', () => {
    expect(Object.keys(manifest.scripts ?? {}).filter((name) => hooks.includes(name))).toEqual([]);
  });

  it('runs no script of a dependency, nor compiles one', async () => {
    const paths = await runtimePackages();
    expect(paths).toEqual(
      expect.arrayContaining(
        Object.keys(manifest.dependencies ?? {}).map((name) => `node_modules/${name}`),
      ),
    );
    const scripted: string[] = [];
    for (const path of paths) {
      const { scripts = {} } = await readJson<Manifest>(project, path, 'package.json');
      const names = Object.keys(scripts).filter((name) => /^(pre|post)?install$/.test(name));
      const files = await readdir(join(project, path));
      if (names.length > 0 || files.includes('binding.gyp')) scripted.push(path);
    }
    expect(scripted).toEqual([]);
  });

  it('asks for a Node that every dependency accepts, and is typed by that Node', async () => {
    const floor = '20.19.0';
    expect(manifest.engines?.node).toBe(`>=${floor}`);
    expect(manifest.devDependencies?.['@types/node']).toMatch(/^20\./);
    const tooNew: string[] = [];
    for (const path of await runtimePackages()) {
      const { engines } = await readJson<Manifest>(project, path, 'package.json');
      if (!acceptsNode(engines?.node ?? '*', floor)) tooNew.push(basename(path));
    }
    expect(tooNew).toEqual([]);
  });
});

/** Whether a range written as `*`, `>=…` or `^…`, or several joined by `||`, takes a version. */
function acceptsNode(range: string, version: string): boolean {
  const [major = 0] = numbersIn(version);
  return range.split('||').some((part) => {
    const bound = part.trim();
    if (bound === '*') return true;
    if (bound.startsWith('>=')) return isAtMost(bound, version);
    return bound.startsWith('^') && numbersIn(bound)[0] === major && isAtMost(bound, version);
  });
}

function isAtMost(low: string, high: string): boolean {
  const [a = 0, b = 0, c = 0] = numbersIn(low);
  const [x = 0, y = 0, z = 0] = numbersIn(high);
  return a !== x ? a < x : b !== y ? b < y : c <= z;
}

function numbersIn(version: string): number[] {
  return (version.match(/\d+/g) ?? []).map(Number);
}
