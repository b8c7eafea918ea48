/** No text may keep the event loop busy: every regular expression and glob of ours, against hostile inputs of 50 kB. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'vite';
import { describe, expect, it } from 'vitest';
import { matchesPattern } from '../../src/core/glob.ts';
import { redactor } from '../../src/core/redact.ts';
import { accepter, countSteps, type Node, parseRegex } from './regex-machine.ts';

const sizeChars = 50_000;
/** Steps for each character that a linear expression of ours may take. A quadratic one takes thousands. */
const stepsPerChar = 64;

interface Found {
  readonly file: string;
  readonly pattern: string;
  readonly flags: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));

const sources = ['src', 'machines'].flatMap((folder) =>
  readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`),
);

/** Every node of a file's syntax tree. */
function* nodesOf(file: string): Iterable<Readonly<Record<string, unknown>>> {
  const { program, errors } = parseSync(file, readFileSync(`${root}/${file}`, 'utf8'));
  if (errors.length > 0) throw new Error(`${file} can't be read`);
  const todo: unknown[] = [program];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (typeof node !== 'object' || node === null || node instanceof RegExp) continue;
    if ('type' in node) yield node as Readonly<Record<string, unknown>>;
    for (const child of Object.values(node)) if (typeof child === 'object') todo.push(child ?? 0);
  }
}

const literals: Found[] = [];
const builders = new Set<string>();
for (const file of sources) {
  for (const { regex, callee } of nodesOf(file)) {
    if (regex) literals.push({ file, ...(regex as { pattern: string; flags: string }) });
    const { name } = (callee ?? {}) as { readonly name?: unknown };
    if (name === 'RegExp') builders.add(file);
  }
}
const named = literals.map(
  (found) => [`/${found.pattern}/${found.flags} of ${found.file}`, found] as const,
);

const alphabet = [
  ...'aZz09 \t\n\r\0_-.,:;$/\\()[]{}"\'&<>*+?^|=#!@~é×\u2028\u200b\u007f\u3000',
  '\ud800',
  '😀',
];

/** Sources of the sets in an expression. */
function setsIn(node: Node): readonly string[] {
  if (node.kind === 'set') return [node.source];
  if ('nodes' in node) return node.nodes.flatMap(setsIn);
  return 'node' in node ? setsIn(node.node) : [];
}

/** One character for each way of being taken or refused by the sets of the expression. */
function charactersFor({ pattern, flags }: Found): readonly string[] {
  const accepts = [...new Set(setsIn(parseRegex(pattern)))].map((set) => accepter(set, flags));
  const byAnswer = new Map<string, string>();
  for (const character of alphabet) {
    const answer = accepts.map((accept) => Number(accept(character))).join('');
    if (!byAnswer.has(answer)) byAnswer.set(answer, character);
  }
  return [...byAnswer.values()].slice(0, 8);
}

/** Runs of one character and of two, with ends that fit and ends that do not. */
function* hostileTexts(found: Found): Iterable<string> {
  const characters = charactersFor(found);
  const [first = 'a'] = characters;
  for (const one of characters) {
    const run = one.repeat(sizeChars / one.length);
    yield run;
    yield `${run}\u2028!\u2028`;
    yield `${first}${run}\0${run.slice(0, 100)}`;
    const other = characters[(characters.indexOf(one) + 1) % characters.length] ?? one;
    yield (one + other).repeat(sizeChars / (one.length + other.length));
  }
}

it('finds the expressions in the sources', () => {
  expect(sources.length).toBeGreaterThan(60);
  expect(literals.length).toBeGreaterThan(25);
  expect(literals.map(({ file }) => file)).toContain('src/core/visible.ts');
});

it('knows each place that builds an expression from text', () => {
  expect([...builders]).toEqual(['src/core/redact.ts']);
});

describe.each(named)('%s', (_name, found) => {
  it('takes a number of steps that grows with the text, not faster', { timeout: 60_000 }, () => {
    for (const text of hostileTexts(found)) {
      const most = stepsPerChar * text.length;
      const steps = countSteps(found.pattern, found.flags, text, most);
      expect(steps, JSON.stringify(text.slice(0, 4))).toBeLessThan(most);
    }
  });

  it('has no repeat in a repeat, and no two in a row for the same characters', () => {
    expect(problemsOf(found)).toEqual([]);
  });
});

interface Element {
  readonly source: string;
  readonly isOpen: boolean;
}

const isOpen = (node: Node): boolean =>
  node.kind === 'repeat' && node.max === Number.POSITIVE_INFINITY;

function problemsOf({ pattern, flags }: Found): readonly string[] {
  const tree = parseRegex(pattern);
  const ways = waysThrough(tree);
  const rivals = ways.some((way) => hasRivals(way, flags));
  return [
    ...(nestedRepeats(tree) ? ['a repeat of something that repeats'] : []),
    ...(rivals ? ['two open repeats for the same characters'] : []),
  ];
}

function nestedRepeats(node: Node): boolean {
  if (isOpen(node) && 'node' in node && varies(node.node)) return true;
  if ('nodes' in node) return node.nodes.some(nestedRepeats);
  return 'node' in node && nestedRepeats(node.node);
}

function varies(node: Node): boolean {
  if (node.kind === 'repeat' && node.min !== node.max) return true;
  if ('nodes' in node) return node.nodes.some(varies);
  return 'node' in node && varies(node.node);
}

/** The rows of sets that a match can go through; what may be left out is there and not there. */
function waysThrough(node: Node): readonly (readonly Element[])[] {
  switch (node.kind) {
    case 'set':
      return [[{ source: node.source, isOpen: false }]];
    case 'choice':
      return node.nodes.flatMap(waysThrough);
    case 'list':
      return node.nodes.reduce<readonly (readonly Element[])[]>(
        (ways, next) => ways.flatMap((way) => waysThrough(next).map((more) => [...way, ...more])),
        [[]],
      );
    case 'group':
      return waysThrough(node.node);
    case 'repeat': {
      const once = waysThrough(node.node);
      const [only = []] = once;
      const isSet = once.length === 1 && only.length === 1;
      const inside = isSet ? [only.map(({ source }) => ({ source, isOpen: isOpen(node) }))] : once;
      const again = !isSet && isOpen(node) ? inside.map((way) => [...way, ...way]) : [];
      return [...(node.min === 0 ? [[]] : []), ...inside, ...again];
    }
    default:
      return [[]];
  }
}

function hasRivals(way: readonly Element[], flags: string): boolean {
  const overlap = (a: Element, b: Element): boolean => {
    const [inA, inB] = [accepter(a.source, flags), accepter(b.source, flags)];
    return alphabet.some((character) => inA(character) && inB(character));
  };
  return way.some((first, index) => {
    if (!first.isOpen) return false;
    for (const next of way.slice(index + 1)) {
      if (!overlap(first, next)) return false;
      if (next.isOpen) return true;
    }
    return false;
  });
}

describe('the judge of expressions', () => {
  it.each([
    ['(a+)+$', 'a repeat of something that repeats'],
    ['(a|aa)*$|(?:a*)*', 'a repeat of something that repeats'],
    ['\\s+.*x', 'two open repeats for the same characters'],
    ['a*[ab]?a*$', 'two open repeats for the same characters'],
  ])('finds fault with /%s/', (pattern, problem) => {
    expect(problemsOf({ file: '', pattern, flags: '' })).toContain(problem);
  });

  it.each(['(a+)+$', 'a+$', '^a*a*$', '\\s+$', '^(a|aa)*$'])(
    'counts too many steps of /%s/',
    (pattern) => {
      const text = `${(pattern.startsWith('\\s') ? ' ' : 'a').repeat(sizeChars)}!`;
      const most = stepsPerChar * text.length;
      expect(countSteps(pattern, '', text, most)).toBe(most);
    },
  );

  it.each(['a+', '^a+$', '[^a]', '(?<!b)a', '(a)\\1{0,9}'])('lets /%s/ pass', (pattern) => {
    const text = `${'a'.repeat(sizeChars)}!`;
    expect(countSteps(pattern, '', text, stepsPerChar * text.length)).toBeLessThan(
      stepsPerChar * text.length,
    );
  });
});

/** A text that counts how often a character of it is read. */
function countedText(text: string) {
  let reads = 0;
  const counted = new Proxy(Object(text), {
    get(target, key) {
      if (key !== 'length') reads += 1;
      return Reflect.get(target, key);
    },
  });
  return { counted: counted as string, reads: () => reads };
}

describe('a name pattern', () => {
  const long = 'a'.repeat(sizeChars);
  it.each([
    ['*'.repeat(50), long],
    ['*a'.repeat(50), long],
    [`${'*a'.repeat(50)}b`, long],
    ['a*'.repeat(50), `${long}b`],
    [`${'*ab'.repeat(20)}c`, 'ab'.repeat(sizeChars / 2)],
    ['*aaaaaaaaaaaaaaaab', long],
    [`a${'*'.repeat(200)}b`, long],
  ])('%s reads at most pattern length × name length characters', (pattern, name) => {
    const { counted, reads } = countedText(name);
    matchesPattern(pattern, counted);
    expect(reads()).toBeLessThanOrEqual((pattern.length + 2) * name.length);
  });
});

it('looks for secrets with literal alternatives only, whatever they look like', () => {
  const secrets = ['(a+)+$', 'a*a*a*b', '[^]', '\\', '|', '(?:', '.*.*.*x', '{1,9}', 'a{2}'];
  const { text } = redactor(secrets);
  for (const secret of secrets) expect(text(`<${secret}>`)).toBe('<[redacted]>');
  expect(text('aaaa')).toBe('aaaa');
});
