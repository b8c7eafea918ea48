import { describe, expect, it } from 'vitest';
import { inColour, plain } from '../../src/cli/paint.ts';
import { tableLines } from '../../src/cli/table.ts';

const columns = [{ head: 'NAME' }, { head: 'N', isRight: true }, { head: 'NOTE' }];

describe('a table', () => {
  it('has columns as wide as they have to be, and no blanks at the end', () => {
    const rows = [
      ['a', '1', ''],
      ['longer', '1,000', 'x'],
    ];
    expect(tableLines(columns, rows, plain)).toEqual([
      '  NAME        N  NOTE',
      '  a           1',
      '  longer  1,000  x',
    ]);
  });

  it('measures what is seen, not the colours', () => {
    const lines = tableLines(columns, [[['good', 'ok'], '1', 'x']], inColour);
    expect(lines[1]).toBe('  \u001b[32mok\u001b[39m    1  x');
  });

  it('has no line of heads when there are none', () => {
    expect(tableLines([{ head: '' }, { head: '' }], [['a', 'b']], plain)).toEqual(['  a  b']);
  });

  it('fills rows that are short', () => {
    expect(tableLines(columns, [['a']], plain)).toEqual(['  NAME  N  NOTE', '  a']);
  });
});
