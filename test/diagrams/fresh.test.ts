import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { generateFiles } from '../../visualizations/generate.ts';

const folder = new URL('../../visualizations/', import.meta.url);

describe('the pictures in visualizations', async () => {
  const files = await generateFiles();

  it.each([...files])('%s is what its machine looks like now', async (name, text) => {
    const checkedIn = await readFile(new URL(name, folder), 'utf8').catch(() => '');
    // Line breaks may have been changed by a checkout on Windows.
    const isFresh = checkedIn.replaceAll('\r\n', '\n') === text;
    expect(isFresh, `visualizations/${name} is stale, run \`npm run diagrams\``).toBe(true);
  });

  it('are no others than these', async () => {
    const generated = /\.(mmd|svg|json)$/;
    const found = (await readdir(folder)).filter((name) => generated.test(name));
    expect(found.sort()).toEqual([...files.keys()].sort());
  });
});
