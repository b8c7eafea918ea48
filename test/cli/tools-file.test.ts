import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTools, toolsIn } from '../../src/cli/tools-file.ts';
import { defineTool } from '../../src/tools/define-tool.ts';

const tool = defineTool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  effect: 'read',
  run: () => 'seen',
});

describe('the tools of a module', () => {
  it.each([
    ['its default export', { default: [tool] }],
    ['or an export of that name', { tools: [tool] }],
    ['and the default wins', { default: [tool], tools: [] }],
  ])('are %s', (_name, module) => {
    expect(toolsIn(module, 'tools.mjs')).toEqual([tool]);
  });

  it.each([
    ['no export', {}, 'exports no tools'],
    ['an inherited export', Object.create({ tools: [tool] }), 'exports no tools'],
    ['one tool without a list', { default: tool }, 'a list of tools'],
    ['an empty list', { default: [] }, 'at least one tool'],
    ['something else in the list', { default: [tool, { name: 'x' }] }, 'default[1]'],
    ['nothing in the list', { tools: [null] }, 'tools[0]'],
  ])('are refused with %s', (_name, module, words) => {
    expect(() => toolsIn(module, 'tools.mjs')).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringContaining(words),
      }),
    );
  });
});

describe('a tools file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-tools-'));
    await writeFile(join(folder, 'broken.mjs'), 'export default [');
    await writeFile(join(folder, 'throws.mjs'), 'throw new Error("not today");');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['missing.mjs', 'a file that exists'],
    ['tools.json', 'a file that ends in'],
    ['broken.mjs', "can't be loaded"],
    ['throws.mjs', 'not today'],
  ])('%s is wrong usage', async (file, words) => {
    await expect(loadTools(file, folder)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(words),
    });
  });
});
