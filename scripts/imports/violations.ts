import { findCycles } from './cycles.ts';
import { type Import, parseImports } from './parse.ts';
import { resolveImport, type Target } from './resolve.ts';
import {
  barrels,
  confinedPackages,
  type ImportRule,
  isIn,
  isInAny,
  lazyPackages,
  rules,
  usersOfOwnName,
} from './rules.ts';

/** What was found in a tree. Each violation is one line for a person. */
export interface ImportReport {
  readonly fileCount: number;
  readonly importCount: number;
  readonly violations: readonly string[];
}

interface Mention {
  readonly file: string;
  readonly found: Import;
  readonly target: Target;
}

/** Checks sources, given by path relative to the project, against the rules and for cycles. */
export function checkImports(sources: ReadonlyMap<string, string>): ImportReport {
  const files = new Set(sources.keys());
  const violations: string[] = [];
  const graph = new Map<string, string[]>();
  let importCount = 0;

  for (const [file, source] of sources) {
    const { imports, problem } = parseImports(file, source);
    if (problem !== null) violations.push(`${file} does not parse: ${problem}`);
    violations.push(...misplaced(file));
    const mentions = imports.map((found) => resolved(file, found, files));
    violations.push(...mentions.flatMap(checkMention));
    graph.set(file, mentions.flatMap(fileOf));
    importCount += imports.length;
  }
  for (const cycle of findCycles(graph)) {
    violations.push(`import cycle: ${[...cycle, cycle[0]].join(' → ')}`);
  }
  return { fileCount: files.size, importCount, violations };
}

function resolved(file: string, found: Import, files: ReadonlySet<string>): Mention {
  const target: Target =
    found.specifier === null
      ? { kind: 'wrong', reason: 'it is computed at run time, so no rule can follow it' }
      : resolveImport(file, found.specifier, files);
  return { file, found, target };
}

function fileOf({ target }: Mention): string[] {
  return target.kind === 'file' || target.kind === 'own' ? [target.path] : [];
}

function ruleOf(file: string): ImportRule | undefined {
  return rules.find((rule) => isIn(rule.place, file));
}

function misplaced(file: string): string[] {
  const problems: string[] = [];
  if (ruleOf(file) === undefined) problems.push(`${file} has no place in scripts/imports/rules.ts`);
  if (/(^|\/)index\.[cm]?[jt]sx?$/.test(file) && !barrels.includes(file)) {
    problems.push(`${file} is named index, but the only barrels are ${barrels.join(', ')}`);
  }
  return problems;
}

function checkMention(mention: Mention): string[] {
  const { file, found } = mention;
  const rule = ruleOf(file);
  if (rule === undefined) return [];
  const reasons = [notAllowed(rule, mention), notLazy(mention), notABarrel(mention)];
  const what = found.specifier === null ? 'import(…)' : `"${found.specifier}"`;
  return reasons
    .filter((reason) => reason !== null)
    .map((reason) => `${file}:${found.line} imports ${what}: ${reason}`);
}

function notAllowed(rule: ImportRule, { file, found, target }: Mention): string | null {
  switch (target.kind) {
    case 'wrong':
      return found.specifier === null && rule.hasComputedImports ? null : target.reason;
    case 'node':
      return rule.hasNode ? null : `${rule.place} may not import Node built-ins`;
    case 'own':
      return isInAny(usersOfOwnName, file) ? null : 'inside the package, name the file';
    case 'file':
      return isInAny(rule.files, target.path)
        ? null
        : `${rule.place} may import only ${rule.files.join(', ')}`;
    case 'package':
      return packageNotAllowed(rule, file, target.name);
  }
}

function packageNotAllowed(rule: ImportRule, file: string, name: string): string | null {
  const { place, packages } = rule;
  if (packages !== 'any' && packages.length === 0) return `${place} may not import packages`;
  if (packages !== 'any' && !packages.includes(name)) {
    return `of packages, ${place} may import only ${packages.join(', ')}`;
  }
  const places = confinedPackages.get(name);
  if (places === undefined || isInAny(places, file)) return null;
  return `${name} may be imported only in ${places.join(', ')}`;
}

function notLazy({ file, found, target }: Mention): string | null {
  if (target.kind !== 'package' || !lazyPackages.includes(target.name)) return null;
  if (found.kind !== 'static' || !isInAny(['src/', 'machines/'], file)) return null;
  return `${target.name} loads slowly: use import type, and import() where it runs`;
}

function notABarrel({ file, found }: Mention): string | null {
  if (!found.isReexport || barrels.includes(file)) return null;
  if (!isInAny(['src/', 'machines/'], file)) return null;
  return 'only a barrel re-exports; import it where it is declared';
}
