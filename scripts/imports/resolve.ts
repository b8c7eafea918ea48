import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { ownEntries } from './rules.ts';

/** What an import's specifier stands for. */
export type Target =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'own'; readonly path: string }
  | { readonly kind: 'node' }
  | { readonly kind: 'package'; readonly name: string }
  | { readonly kind: 'wrong'; readonly reason: string };

/** Resolves a specifier written in `importer`; both paths are relative to the project, with `/`. */
export function resolveImport(
  importer: string,
  specifier: string,
  files: ReadonlySet<string>,
): Target {
  if (specifier.startsWith('./') || specifier.startsWith('../')) {
    return resolveRelative(importer, specifier, files);
  }
  if (specifier.startsWith('node:')) return { kind: 'node' };
  if (builtinModules.includes(specifier)) {
    return { kind: 'wrong', reason: `a Node built-in is written "node:${specifier}"` };
  }
  const own = ownEntries.get(specifier);
  if (own !== undefined) return { kind: 'own', path: own };
  return resolvePackage(specifier);
}

function resolveRelative(importer: string, specifier: string, files: ReadonlySet<string>): Target {
  const path = posix.normalize(posix.join(posix.dirname(importer), specifier));
  if (path === '..' || path.startsWith('../')) {
    return { kind: 'wrong', reason: 'it lies outside the project' };
  }
  if (isSource(path) && !files.has(path)) return { kind: 'wrong', reason: 'there is no such file' };
  if (!isSource(path) && !path.endsWith('.json')) {
    return { kind: 'wrong', reason: 'an import names a file, with its extension' };
  }
  return { kind: 'file', path };
}

function resolvePackage(specifier: string): Target {
  const [, name] = /^((?:@[\w.-]+\/)?[\w.-]+)(?:\/|$)/.exec(specifier) ?? [];
  if (name === undefined) return { kind: 'wrong', reason: 'it names neither a file nor a package' };
  return { kind: 'package', name };
}

/** Whether a path is code that imports can be read from. */
export function isSource(path: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(path);
}
