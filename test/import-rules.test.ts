import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCycles } from '../scripts/imports/cycles.ts';
import { parseImports } from '../scripts/imports/parse.ts';
import { readSources } from '../scripts/imports/read-sources.ts';
import { checkImports } from '../scripts/imports/violations.ts';

/** A tree with one file in every place, where nobody imports anybody. */
const places = [
  'machines/agent-loop.machine.ts',
  'machines/index.ts',
  'src/cli/main.ts',
  'src/core/budget.ts',
  'src/core/message.ts',
  'src/diagrams/layout.ts',
  'src/index.ts',
  'src/providers/anthropic.ts',
  'src/providers/provider.ts',
  'src/runtime/agent.ts',
  'src/runtime/effects.ts',
  'src/stores/memory.ts',
  'src/stores/sqlite.ts',
  'src/stores/store.ts',
  'src/testing/fake-clock.ts',
  'src/testing/index.ts',
  'src/tools/define-tool.ts',
  'src/tools/tool.ts',
  'examples/01-hello.ts',
  'visualizations/generate.ts',
  'test/agent.test.ts',
  'bench/steps.ts',
];

function violationsWith(file: string, ...lines: string[]): readonly string[] {
  const sources = new Map(places.map((place) => [place, '']));
  sources.set(file, lines.join('\n'));
  return checkImports(sources).violations;
}

describe('what may be imported', () => {
  it.each([
    ['machines/agent-loop.machine.ts', '../src/core/budget.ts'],
    ['machines/agent-loop.machine.ts', 'xstate'],
    ['machines/index.ts', './agent-loop.machine.ts'],
    ['src/cli/main.ts', '../stores/sqlite.ts'],
    ['src/cli/main.ts', '../../machines/agent-loop.machine.ts'],
    ['src/cli/main.ts', 'commander'],
    ['src/core/budget.ts', './message.ts'],
    ['src/core/budget.ts', 'immer'],
    ['src/diagrams/layout.ts', 'xstate/graph'],
    ['src/diagrams/layout.ts', '../../machines/agent-loop.machine.ts'],
    ['src/index.ts', './stores/memory.ts'],
    ['src/providers/anthropic.ts', './provider.ts'],
    ['src/providers/anthropic.ts', 'eventsource-parser'],
    ['src/providers/provider.ts', '../core/message.ts'],
    ['src/runtime/agent.ts', '../stores/memory.ts'],
    ['src/runtime/effects.ts', '../stores/store.ts'],
    ['src/runtime/effects.ts', '../tools/define-tool.ts'],
    ['src/runtime/effects.ts', 'node:crypto'],
    ['src/stores/sqlite.ts', './memory.ts'],
    ['src/testing/fake-clock.ts', '../providers/provider.ts'],
    ['src/tools/define-tool.ts', 'zod'],
    ['src/tools/tool.ts', 'zod'],
    ['examples/01-hello.ts', 'pawl'],
    ['examples/01-hello.ts', 'pawl/testing'],
    ['examples/01-hello.ts', 'pawl/machines'],
    ['examples/01-hello.ts', '@statelyai/inspect'],
    ['visualizations/generate.ts', '../src/diagrams/layout.ts'],
    ['test/agent.test.ts', '../src/core/budget.ts'],
    ['test/agent.test.ts', '../package.json'],
    ['bench/steps.ts', 'immer'],
  ])('%s may import %s', (file, specifier) => {
    expect(violationsWith(file, `import {} from '${specifier}';`)).toEqual([]);
  });
});

describe('what may not be imported', () => {
  it.each([
    ['machines/agent-loop.machine.ts', '../src/runtime/effects.ts', 'may import only machines/'],
    ['machines/agent-loop.machine.ts', 'node:fs', 'may not import Node built-ins'],
    ['machines/agent-loop.machine.ts', 'zod', 'may import only xstate'],
    ['src/core/budget.ts', '../runtime/effects.ts', 'may import only src/core/'],
    ['src/core/budget.ts', '../../machines/agent-loop.machine.ts', 'may import only src/core/'],
    ['src/core/budget.ts', 'node:crypto', 'may not import Node built-ins'],
    ['src/core/budget.ts', 'xstate', 'may import only immer'],
    ['src/diagrams/layout.ts', '../runtime/effects.ts', 'may import only machines/'],
    ['src/diagrams/layout.ts', 'zod', 'may import only xstate, elkjs'],
    ['src/index.ts', 'zod', 'may not import packages'],
    ['src/index.ts', 'node:fs', 'may not import Node built-ins'],
    ['src/providers/anthropic.ts', '../stores/store.ts', 'may import only src/core/'],
    ['src/providers/anthropic.ts', '../runtime/effects.ts', 'may import only src/core/'],
    ['src/providers/anthropic.ts', 'xstate', 'xstate may be imported only in machines/'],
    ['src/providers/provider.ts', './anthropic.ts', 'may import only src/core/'],
    ['src/providers/provider.ts', 'zod', 'may not import packages'],
    ['src/runtime/agent.ts', '../stores/sqlite.ts', 'may import only src/core/'],
    ['src/runtime/effects.ts', '../providers/anthropic.ts', 'may import only src/core/'],
    ['src/runtime/effects.ts', '../stores/memory.ts', 'may import only src/core/'],
    ['src/runtime/effects.ts', 'zod', 'may import only xstate'],
    ['src/stores/sqlite.ts', '../tools/tool.ts', 'may import only src/core/'],
    ['src/stores/store.ts', './memory.ts', 'may import only src/core/'],
    ['src/stores/store.ts', 'node:fs', 'may not import Node built-ins'],
    ['src/testing/fake-clock.ts', '../stores/memory.ts', 'may import only src/core/'],
    ['src/testing/fake-clock.ts', 'xstate', 'xstate may be imported only in machines/'],
    ['src/tools/define-tool.ts', '../runtime/effects.ts', 'may import only src/core/'],
    ['src/tools/define-tool.ts', 'commander', 'may import only zod'],
    ['src/tools/tool.ts', './define-tool.ts', 'may import only src/core/'],
    ['src/tools/tool.ts', 'node:fs', 'may not import Node built-ins'],
    ['src/cli/main.ts', 'xstate', 'xstate may be imported only in machines/'],
    ['src/cli/main.ts', '../../test/agent.test.ts', 'may import only src/, machines/'],
    ['src/cli/main.ts', 'pawl', 'inside the package, name the file'],
    ['examples/01-hello.ts', '../src/index.ts', 'may import only examples/'],
    ['examples/01-hello.ts', 'pawl/stores', 'may import only zod'],
    ['examples/01-hello.ts', 'commander', 'may import only zod'],
    ['visualizations/generate.ts', '../src/runtime/effects.ts', 'may import only visualizations/'],
    ['bench/steps.ts', 'xstate', 'xstate may be imported only in machines/'],
    ['test/agent.test.ts', '../src/core/bugdet.ts', 'there is no such file'],
    ['test/agent.test.ts', '../src/core/budget', 'an import names a file, with its extension'],
    ['test/agent.test.ts', '../src', 'an import names a file, with its extension'],
    ['test/agent.test.ts', '../../secrets.ts', 'it lies outside the project'],
    ['test/agent.test.ts', '/etc/hosts.ts', 'it names neither a file nor a package'],
    ['test/agent.test.ts', 'fs', 'a Node built-in is written "node:fs"'],
  ])('%s may not import %s', (file, specifier, reason) => {
    const violations = violationsWith(file, '', `import '${specifier}';`);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain(`${file}:2 imports "${specifier}": `);
    expect(violations[0]).toContain(reason);
  });

  it.each([
    ['a type', "import type { Effects } from '../runtime/effects.ts';"],
    ['a type in braces', "import { type Effects } from '../runtime/effects.ts';"],
    ['a type inside an expression', "let effects: import('../runtime/effects.ts').Effects;"],
    ['an import() in a function', "const load = () => import('../runtime/effects.ts');"],
    ['a template without holes', 'const load = () => import(`../runtime/effects.ts`);'],
  ])('%s counts as an import', (_form, line) => {
    expect(violationsWith('src/core/budget.ts', line)).toEqual([
      'src/core/budget.ts:1 imports "../runtime/effects.ts": src/core/ may import only src/core/',
    ]);
  });

  it('an import() of something computed is rejected where no rule could follow it', () => {
    const line = 'const load = (name: string) => import(name);';
    expect(violationsWith('src/core/budget.ts', line)).toEqual([
      'src/core/budget.ts:1 imports import(…): it is computed at run time, so no rule can follow it',
    ]);
    expect(violationsWith('src/cli/main.ts', line)).toEqual([]);
  });
});

describe('slow packages', () => {
  it.each([
    ['src/providers/anthropic.ts', "import Anthropic from '@anthropic-ai/sdk';"],
    ['src/providers/anthropic.ts', "import { APIError } from '@anthropic-ai/sdk/error';"],
    ['src/providers/anthropic.ts', "import { type APIError } from '@anthropic-ai/sdk';"],
    ['src/diagrams/layout.ts', "import ELK from 'elkjs';"],
  ])('%s may not load one with itself: %s', (file, line) => {
    expect(violationsWith(file, line)).toEqual([expect.stringContaining('loads slowly')]);
  });

  it.each([
    ['src/providers/anthropic.ts', "import type Anthropic from '@anthropic-ai/sdk';"],
    ['src/providers/anthropic.ts', "const load = () => import('@anthropic-ai/sdk');"],
    ['test/agent.test.ts', "import Anthropic from '@anthropic-ai/sdk';"],
  ])('%s may name its types, load it later, or be no product: %s', (file, line) => {
    expect(violationsWith(file, line)).toEqual([]);
  });
});

describe('barrels', () => {
  it('no other file re-exports', () => {
    expect(violationsWith('src/core/budget.ts', "export * from './message.ts';")).toEqual([
      'src/core/budget.ts:1 imports "./message.ts": only a barrel re-exports; import it where it is declared',
    ]);
    expect(violationsWith('src/index.ts', "export { a } from './core/message.ts';")).toEqual([]);
  });

  it('no other file is named index', () => {
    expect(violationsWith('src/core/index.ts', '')).toEqual([
      'src/core/index.ts is named index, but the only barrels are src/index.ts, machines/index.ts, src/testing/index.ts',
    ]);
  });
});

describe('the tree', () => {
  it('a file in a place that no rule covers is rejected', () => {
    expect(violationsWith('src/utils/strings.ts', "import 'node:fs';")).toEqual([
      'src/utils/strings.ts has no place in scripts/imports/rules.ts',
    ]);
  });

  it('a file that does not parse is rejected', () => {
    expect(violationsWith('src/core/budget.ts', 'import { from')).toEqual([
      expect.stringMatching(/^src\/core\/budget\.ts does not parse: /),
    ]);
  });

  it('two files that know only each other’s types are a cycle', () => {
    const { violations } = checkImports(
      new Map([
        ['src/core/budget.ts', "import type { Message } from './message.ts';"],
        ['src/core/message.ts', "import type { Budget } from './budget.ts';"],
      ]),
    );
    expect(violations).toEqual([
      'import cycle: src/core/budget.ts → src/core/message.ts → src/core/budget.ts',
    ]);
  });
});

describe('findCycles', () => {
  it.each([
    ['a chain has none', { a: ['b'], b: ['c'], c: [] }, []],
    ['a file that imports itself', { a: ['a'] }, [['a']]],
    ['the shortest way back', { a: ['b', 'c'], b: ['c'], c: ['a'] }, [['a', 'c']]],
    [
      'one for each knot, whoever leads into it',
      { a: ['b'], b: ['c', 'd'], c: ['b'], d: ['e'], e: ['d'] },
      [
        ['b', 'c'],
        ['d', 'e'],
      ],
    ],
    ['names of object members', { constructor: ['__proto__'], ['__proto__']: [] }, []],
  ])('%s', (_name, graph, cycles) => {
    expect(findCycles(new Map(Object.entries(graph)))).toEqual(cycles);
  });
});

describe('parseImports', () => {
  it('lists every form in order, with its line', () => {
    const source = [
      "import type { A } from './a.ts';",
      "export type { B } from './b.ts';",
      'const text = "import \'./not-me.ts\'"; // import "./nor-me.ts"',
      "export const load = () => import('./c.ts');",
    ];
    expect(parseImports('x.ts', source.join('\n')).imports).toMatchObject([
      { specifier: './a.ts', kind: 'type', isReexport: false, line: 1 },
      { specifier: './b.ts', kind: 'type', isReexport: true, line: 2 },
      { specifier: './c.ts', kind: 'dynamic', isReexport: false, line: 4 },
    ]);
  });
});

describe('a tree on disk', () => {
  let root: string;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'pawl-import-rules-'));
    for (const path of ['src/core/budget.ts', 'dist/src/index.js', 'test/fixtures/reply.json']) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), "import 'node:fs';");
    }
  });
  afterAll(() => rm(root, { recursive: true }));

  it('is read without what is built and what is not code', async () => {
    const sources = await readSources(root);
    expect([...sources.keys()]).toEqual(['src/core/budget.ts']);
    expect(checkImports(sources).violations).toHaveLength(1);
  });

  it('this project keeps its rules', async () => {
    const project = fileURLToPath(new URL('..', import.meta.url));
    expect(checkImports(await readSources(project)).violations).toEqual([]);
  });
});
