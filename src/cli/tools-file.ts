import { access } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { invalidInput, PawlError } from '../core/errors.ts';
import { describeThrown } from '../core/stringify.ts';
import type { Tool } from '../tools/tool.ts';

const extensions = ['.js', '.mjs', '.ts', '.mts'];

/**
 * Loads the module that `--tools` names, relative to `folder`, and nothing else.
 * @throws PawlError `invalid_input` when there is no such file, or no list of tools in it.
 */
export async function loadTools(file: string, folder: string): Promise<readonly Tool[]> {
  const path = resolve(folder, file);
  if (!extensions.includes(extname(path))) {
    throw invalidInput('--tools', `a file that ends in ${extensions.join(', ')}`, file);
  }
  await access(path).catch(() => {
    throw invalidInput('--tools', `a file that exists (looked for ${path})`, file);
  });
  return toolsIn(await importModule(path), file);
}

async function importModule(path: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw new PawlError('invalid_input', `--tools: ${path} can't be loaded. ${whyNot(error)}`, {
      cause: error,
    });
  }
}

function whyNot(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return code === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? `Node ${process.versions.node} reads no TypeScript; use Node 22.18 or newer, or a .mjs file.`
    : describeThrown(error);
}

/** The tools that a module exports: its default export, or `tools`. @throws PawlError `invalid_input` */
export function toolsIn(module: Readonly<Record<string, unknown>>, file: string): readonly Tool[] {
  const name = Object.hasOwn(module, 'default') ? 'default' : 'tools';
  const list = Object.hasOwn(module, name) ? module[name] : undefined;
  if (list === undefined) {
    throw new PawlError(
      'invalid_input',
      `--tools: ${file} exports no tools. Export a list as default: export default [defineTool({ … })].`,
    );
  }
  if (!Array.isArray(list))
    throw invalidInput(`--tools: ${file}: ${name}`, 'a list of tools', list);
  if (list.length === 0) throw invalidInput(`--tools: ${file}: ${name}`, 'at least one tool', list);
  const wrong = list.findIndex((tool) => !isTool(tool));
  if (wrong === -1) return list;
  throw invalidInput(
    `--tools: ${file}: ${name}[${wrong}]`,
    'a tool made by defineTool',
    list[wrong],
  );
}

function isTool(value: unknown): value is Tool {
  const { name, run, parse } = (value ?? {}) as Partial<Tool>;
  return typeof name === 'string' && typeof run === 'function' && typeof parse === 'function';
}
