import { describe, expect, it } from 'vitest';
import { inColour, paintFor, plain } from '../../src/cli/paint.ts';

describe('colours', () => {
  it.each([
    ['on a terminal', { isTTY: true, hasColors: () => true }, {}, inColour],
    ['not without a terminal', {}, {}, plain],
    ['not on a terminal without them', { isTTY: true, hasColors: () => false }, {}, plain],
    ['not with NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, plain],
    ['with an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, inColour],
    ['not on a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, plain],
  ])('are used %s', (_name, stream, environment, paint) => {
    expect(paintFor(stream, environment)).toBe(paint);
  });

  it('end where they began', () => {
    expect(inColour('bad', 'x')).toBe('\u001b[31mx\u001b[39m');
    expect(inColour('bad', '')).toBe('');
    expect(plain('bad', 'x')).toBe('x');
  });
});
