import type { Paint, Style } from './paint.ts';

/** Text that was made visible before, and its style. */
export type Cell = string | readonly [style: Style, text: string];

export interface Column {
  readonly head: string;
  readonly isRight?: boolean;
}

const textOf = (cell: Cell): string => (typeof cell === 'string' ? cell : cell[1]);
const widthOf = (text: string): number => [...text].length;

/** Rows below their heads, in columns as wide as they have to be. Without heads, rows alone. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  paint: Paint,
): readonly string[] {
  const heads = columns.map(({ head }): Cell => ['dim', head]);
  const all = columns.some(({ head }) => head !== '') ? [heads, ...rows] : rows;
  const widths = columns.map((_, index) =>
    Math.max(0, ...all.map((row) => widthOf(textOf(row[index] ?? '')))),
  );
  const lineOf = (row: readonly Cell[]): string =>
    columns
      .map(({ isRight = false }, index) => {
        const cell = row[index] ?? '';
        const room = ' '.repeat((widths[index] ?? 0) - widthOf(textOf(cell)));
        const shown = typeof cell === 'string' ? cell : paint(...cell);
        return isRight ? room + shown : shown + room;
      })
      .join('  ')
      .trimEnd();
  return all.map((row) => `  ${lineOf(row)}`);
}
