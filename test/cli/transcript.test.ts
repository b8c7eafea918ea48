import { describe, expect, it } from 'vitest';
import { plain } from '../../src/cli/paint.ts';
import { transcriptLines } from '../../src/cli/transcript.ts';
import { type Message, userMessage } from '../../src/core/message.ts';

const talk: readonly Message[] = [
  userMessage('Mail Ada.\nPlease.'),
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I do.' },
      { type: 'tool_use', id: 't1', name: 'send_mail', input: { to: 'ada' } },
    ],
  },
  {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't1', content: 'sent\nat noon' }],
  },
  { role: 'assistant', content: [{ type: 'text', text: 'Done \u001b[2J.' }] },
];

describe('a transcript in short', () => {
  it('has who said what, the calls and their results', () => {
    expect(transcriptLines(talk, plain)).toEqual([
      '  › Mail Ada.',
      '    Please.',
      '    I do.',
      '    → send_mail {"to":"ada"}',
      '    ← send_mail sent',
      '      at noon',
      '    Done \\u{1b}[2J.',
    ]);
  });

  it('names blocks that are no text', () => {
    const thinking: Message = {
      role: 'assistant',
      content: [{ type: 'redacted_thinking', data: 'x' }],
    };
    expect(transcriptLines([thinking], plain)).toEqual(['    [redacted_thinking]']);
  });

  it('cuts a long text', () => {
    const [line = ''] = transcriptLines([userMessage('x'.repeat(10_000))], plain);
    expect(line.length).toBeLessThan(450);
    expect(line).toContain('9,600 more characters');
  });

  it('has the beginning and the end of a long talk', () => {
    const messages = Array.from({ length: 100 }, (_, index) => userMessage(`Message ${index}.`));
    const lines = transcriptLines(messages, plain);
    expect(lines).toHaveLength(31);
    expect(lines.slice(1, 4)).toEqual([
      '  › Message 1.',
      '  … 70 messages between; --json has them all',
      '  › Message 72.',
    ]);
  });
});
