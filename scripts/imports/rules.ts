/**
 * Who may import whom. Read it as the architecture: each row is a place in the tree, the first row
 * that covers a file is its rule, and a file that no row covers is an error.
 *
 * A place that ends in `/` is a folder with everything below it; any other place is one file.
 */
export interface ImportRule {
  readonly place: string;
  /** Places of this project that a file here may import. */
  readonly files: readonly string[];
  /** Packages that a file here may import, or 'any'; a confined package must be open to this place, too. */
  readonly packages: readonly string[] | 'any';
  /** Whether Node built-ins (`node:…`) may be imported. */
  readonly hasNode: boolean;
  /** Whether `import(expression)` is allowed, which no rule can follow. */
  readonly hasComputedImports?: boolean;
}

const core = 'src/core/';
const contracts = ['src/providers/provider.ts', 'src/stores/store.ts', 'src/tools/tool.ts'];
const product = ['src/', 'machines/'];
const everything = [
  ...product,
  'test/',
  'visualizations/',
  'examples/',
  'bench/',
  'scripts/',
  'package.json',
  'vitest.config.ts',
];

/** Files around the product: tests, measurements, tools. They may reach for anything. */
const around = (place: string): ImportRule => ({
  place,
  files: everything,
  packages: 'any',
  hasNode: true,
  hasComputedImports: true,
});

export const rules: readonly ImportRule[] = [
  // What happens next: plain values, pure functions, charts. Nothing of the outside world.
  { place: 'src/core/', files: [core], packages: ['immer'], hasNode: false },
  { place: 'machines/', files: ['machines/', core], packages: ['xstate'], hasNode: false },

  // The contracts: what an adapter promises, in words of the core.
  { place: 'src/providers/provider.ts', files: [core], packages: [], hasNode: false },
  { place: 'src/stores/store.ts', files: [core], packages: [], hasNode: false },
  { place: 'src/tools/tool.ts', files: [core], packages: ['zod'], hasNode: false },

  // The adapters: one outside thing each, behind the contract of their folder.
  { place: 'src/providers/', files: [core, 'src/providers/'], packages: 'any', hasNode: true },
  { place: 'src/stores/', files: [core, 'src/stores/'], packages: 'any', hasNode: true },
  { place: 'src/tools/', files: [core, 'src/tools/'], packages: ['zod'], hasNode: true },

  // What makes it happen. It knows contracts, never an adapter; only an agent's default store is one.
  {
    place: 'src/runtime/agent.ts',
    files: [core, 'machines/', 'src/runtime/', ...contracts, 'src/tools/', 'src/stores/memory.ts'],
    packages: ['xstate'],
    hasNode: true,
  },
  {
    place: 'src/runtime/',
    files: [core, 'machines/', 'src/runtime/', ...contracts, 'src/tools/'],
    packages: ['xstate'],
    hasNode: true,
  },

  // For tests of those who use us, and for their eyes.
  {
    place: 'src/testing/',
    files: [core, ...contracts, 'src/testing/'],
    packages: 'any',
    hasNode: true,
  },
  {
    place: 'src/diagrams/',
    files: ['machines/', core, 'src/diagrams/'],
    packages: ['xstate', 'elkjs'],
    hasNode: true,
  },

  // Where the parts are put together.
  {
    place: 'src/cli/',
    files: product,
    packages: 'any',
    hasNode: true,
    hasComputedImports: true, // a user's own agent file is named on the command line
  },
  { place: 'src/index.ts', files: ['src/'], packages: [], hasNode: false },

  // Around the product.
  {
    place: 'visualizations/',
    files: ['visualizations/', 'machines/', core, 'src/diagrams/'],
    packages: 'any',
    hasNode: true,
  },
  {
    place: 'examples/',
    files: ['examples/'],
    packages: ['zod', 'xstate', '@statelyai/inspect'], // and this package, by its own name
    hasNode: true,
  },
  around('test/'),
  around('bench/'),
  around('scripts/'),
  around('vitest.config.ts'),
];

/** The only files that gather what others export, and the only ones that may be named `index.ts`. */
export const barrels: readonly string[] = [
  'src/index.ts',
  'machines/index.ts',
  'src/testing/index.ts',
];

/** Packages that may be imported only in some places, so that a move to their next major touches few files. */
export const confinedPackages: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'xstate',
    ['machines/', 'src/runtime/', 'src/diagrams/', 'test/', 'visualizations/', 'examples/'],
  ],
]);

/** Packages that are slow to load: the product asks for them by `import()`, when they are needed. */
export const lazyPackages: readonly string[] = [
  '@anthropic-ai/sdk',
  '@photostructure/sqlite',
  'elkjs',
];

/** What this package's own name stands for, so that its use is followed like a relative import. */
export const ownEntries: ReadonlyMap<string, string> = new Map([
  ['pawl', 'src/index.ts'],
  ['pawl/machines', 'machines/index.ts'],
  ['pawl/testing', 'src/testing/index.ts'],
]);

/** Where this package may be imported by its own name; within it, files are named by relative paths. */
export const usersOfOwnName: readonly string[] = ['examples/', 'test/', 'bench/'];

/** Whether a file lies in a place: the same file, or below the folder. */
export function isIn(place: string, file: string): boolean {
  return place.endsWith('/') ? file.startsWith(place) : file === place;
}

/** Whether a file lies in one of the places. */
export function isInAny(places: readonly string[], file: string): boolean {
  return places.some((place) => isIn(place, file));
}
