import { parseSync, Visitor } from 'vite';

/** One mention of another module in a file. */
export interface Import {
  /** As written, or null when it is computed at run time. */
  readonly specifier: string | null;
  /** `type` is gone at run time, `static` loads with the file, `dynamic` loads when it is reached. */
  readonly kind: 'type' | 'static' | 'dynamic';
  /** Whether it is written `export … from`. */
  readonly isReexport: boolean;
  /** Counted from 1. */
  readonly line: number;
}

/** What a file imports, in order; or why it could not be read. */
export interface ParsedFile {
  readonly imports: readonly Import[];
  readonly problem: string | null;
}

interface Node {
  readonly type: string;
  readonly start: number;
}

/**
 * Lists every import of a TypeScript source: declarations, re-exports, `import()`, and types named
 * by `import('…')`. `import { type A }` counts as static, because it still loads the module.
 */
export function parseImports(fileName: string, source: string): ParsedFile {
  const parsed = parseSync(fileName, source);
  const failure = parsed.errors.at(0);
  if (failure !== undefined) return { imports: [], problem: failure.message };

  const imports: (Import & { readonly start: number })[] = [];
  const note = (node: Node, from: Node, kind: Import['kind'], isReexport = false): void => {
    const line = lineAt(source, node.start);
    imports.push({ specifier: literalText(from), kind, isReexport, line, start: node.start });
  };
  const loads = (kind: 'type' | 'value' | undefined): Import['kind'] =>
    kind === 'type' ? 'type' : 'static';

  new Visitor({
    ImportDeclaration: (node) => note(node, node.source, loads(node.importKind)),
    ExportAllDeclaration: (node) => note(node, node.source, loads(node.exportKind), true),
    ExportNamedDeclaration: (node) => {
      if (node.source !== null) note(node, node.source, loads(node.exportKind), true);
    },
    ImportExpression: (node) => note(node, node.source, 'dynamic'),
    TSImportType: (node) => note(node, node.source, 'type'),
    TSExternalModuleReference: (node) => note(node, node.expression, 'static'),
  }).visit(parsed.program);

  return { imports: imports.sort((a, b) => a.start - b.start), problem: null };
}

/** The text of a string literal or of a template without holes, else null. */
function literalText(node: Node): string | null {
  if ('value' in node && typeof node.value === 'string') return node.value;
  if (!('quasis' in node) || !Array.isArray(node.quasis) || node.quasis.length !== 1) return null;
  return node.quasis[0]?.value?.cooked ?? null;
}

function lineAt(source: string, offset: number): number {
  return source.slice(0, offset).split('\n').length;
}
