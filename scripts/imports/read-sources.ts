import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSource } from './resolve.ts';

const folders = ['src', 'machines', 'test', 'visualizations', 'examples', 'bench', 'scripts'];

/** Reads the project's code, by path relative to `root` with `/`, sorted. A missing folder is empty. */
export async function readSources(root: string): Promise<Map<string, string>> {
  const names = await readdir(root, { withFileTypes: true });
  const paths = names.filter((entry) => entry.isFile() && isSource(entry.name)).map(nameOf);
  const present = new Set(names.filter((entry) => entry.isDirectory()).map(nameOf));
  for (const folder of folders.filter((name) => present.has(name))) {
    paths.push(...(await listFiles(root, folder)).filter(isSource));
  }
  const sources = new Map<string, string>();
  for (const path of paths.sort()) sources.set(path, await readFile(join(root, path), 'utf8'));
  return sources;
}

async function listFiles(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  const lists = entries.map((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listFiles(root, path);
    return entry.isFile() ? [path] : [];
  });
  return (await Promise.all(lists)).flat();
}

function nameOf(entry: { readonly name: string }): string {
  return entry.name;
}
