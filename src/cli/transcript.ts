/** What was said in a run, in short. */
import { type ContentBlock, type Message, toolUsesIn } from '../core/message.ts';
import type { Paint } from './paint.ts';
import { callLine } from './show-run.ts';
import { cutForDisplay, formatCount, showLine, showProse, showResult } from './show-text.ts';

const maxMessages = 30;
const firstMessages = 2;
const cut = { maxChars: 400, maxLines: 4 };

/** A few lines for each message. Of a long transcript, its beginning and its end. */
export function transcriptLines(messages: readonly Message[], paint: Paint): readonly string[] {
  const names = new Map(
    messages.flatMap((message) => toolUsesIn(message).map(({ id, name }) => [id, name] as const)),
  );
  const lines = messages.map(({ role, content }) =>
    content.flatMap((block) => blockLines(block, role, names, paint)),
  );
  const left = lines.length - maxMessages;
  if (left <= 0) return lines.flat();
  const gap = `  ${paint('dim', `… ${formatCount(left)} messages between; --json has them all`)}`;
  return [
    ...lines.slice(0, firstMessages).flat(),
    gap,
    ...lines.slice(firstMessages - maxMessages).flat(),
  ];
}

function blockLines(
  block: ContentBlock,
  role: Message['role'],
  names: ReadonlyMap<string, string>,
  paint: Paint,
): readonly string[] {
  switch (block.type) {
    case 'text':
      return role === 'user' ? quoted(paint('accent', '›'), block.text) : quoted(' ', block.text);
    case 'tool_use':
      return [`    ${paint('accent', '→')} ${callLine(block.name, block.input)}`];
    case 'tool_result':
      return resultLines(block, names.get(block.tool_use_id) ?? block.tool_use_id, paint);
    default:
      return [`    ${paint('dim', `[${showLine(block.type)}]`)}`];
  }
}

const quoted = (mark: string, text: string): readonly string[] =>
  text.trim() === ''
    ? []
    : showProse(cutForDisplay(text.trim(), cut))
        .split('\n')
        .map((line, index) => `  ${index === 0 ? mark : ' '} ${line}`.trimEnd());

function resultLines(
  block: Extract<ContentBlock, { type: 'tool_result' }>,
  name: string,
  paint: Paint,
): readonly string[] {
  const arrow = paint(block.is_error ? 'bad' : 'good', '←');
  const [first = '', ...rest] = showResult(block).split('\n');
  return [
    `    ${arrow} ${showLine(name)} ${first}`.trimEnd(),
    ...rest.map((line) => `      ${line}`),
  ];
}
