import type { RunEvent } from '../core/run-event.ts';
import type { PendingCall } from '../runtime/run.ts';
import type { RunResult } from '../runtime/run-result.ts';
import type { ExitCode, LeftWaiting } from './exit-code.ts';
import { jsonLine } from './json-line.ts';
import { endLines, linesOf } from './show-run.ts';
import { showProse } from './show-text.ts';
import type { Terminal } from './terminal.ts';

/** How a run came to its end, as the command line sees it. */
export interface RunEnd {
  readonly code: ExitCode;
  /** One sentence for people. May hold foreign text. */
  readonly reason: string;
  readonly result: RunResult;
  /** What the run was left waiting for, if it was. */
  readonly waits: LeftWaiting | null;
  /** Calls that the run was left waiting with. */
  readonly pending: readonly PendingCall[];
}

/** What watches a run on behalf of whoever started the command. */
export interface Screen {
  show(event: RunEvent): void;
  end(end: RunEnd): void;
}

/** Every event as one line of JSON on stdout. */
export const jsonScreen = (terminal: Terminal): Screen => ({
  show: (event) => terminal.write(jsonLine(event)),
  end: () => {},
});

export const exitLine = ({
  code,
  reason,
  pending,
  result,
}: Omit<RunEnd, 'result' | 'waits'> & { readonly result: RunResult | null }): string =>
  jsonLine({ type: 'exit', code, reason, pending, result });

/**
 * For people. On a terminal the text appears as the model writes it; otherwise stdout gets the answer alone and
 * once, when it is complete, so that neither remarks between tool calls nor failed attempts get into it.
 */
export function talkScreen(terminal: Terminal): Screen {
  const { paint, showsAnswer } = terminal;
  /** Text of the model call that is shown now, or was last. */
  let text = '';
  let isThinking = false;
  /** The last reply asked for tools, so its text is a remark and no answer. */
  let isRemark = false;

  const startReply = (): void => {
    text = '';
    isThinking = false;
  };
  const showDelta = (delta: string): void => {
    if (showsAnswer && text === '') terminal.say();
    if (showsAnswer) terminal.write(showProse(delta));
    text += delta;
  };
  const showThinking = (): void => {
    if (!isThinking) terminal.say(paint('dim', '      thinking …'));
    isThinking = true;
  };
  const closeReply = (event: ReplyEnd): void => {
    if (event.type === 'model.replied') isRemark = event.stopReason === 'tool_use';
    if (text.trim() === '') return;
    if (showsAnswer && event.type !== 'model.stopped') terminal.say();
    if (!showsAnswer && isRemark && event.type === 'model.replied')
      sayBlock(terminal, showProse(text.trim()));
    if (event.type !== 'model.failed') return;
    if (showsAnswer)
      terminal.say(paint('warn', '      The text above broke off. It does not count.'));
    text = '';
  };

  return {
    show(event) {
      if (event.type === 'model.started') startReply();
      if (event.type === 'text.delta') showDelta(event.text);
      if (event.type === 'thinking.delta') showThinking();
      if (isReplyEnd(event)) closeReply(event);
      for (const line of linesOf(event, paint)) terminal.say(line);
    },
    end({ result }) {
      for (const line of endLines(result, paint)) terminal.say(line);
      const isShown = showsAnswer && text !== '';
      const isAnswer = result.status === 'completed' || !isRemark;
      if (isShown || !isAnswer || result.text === '') return;
      if (showsAnswer) terminal.say();
      terminal.write(withLineEnd(showProse(result.text)));
    },
  };
}

type ReplyEnd = Extract<RunEvent, { type: 'model.replied' | 'model.failed' | 'model.stopped' }>;

const isReplyEnd = (event: RunEvent): event is ReplyEnd =>
  event.type === 'model.replied' || event.type === 'model.failed' || event.type === 'model.stopped';

const sayBlock = (terminal: Terminal, text: string): void => {
  for (const line of text.split('\n')) terminal.say(`      ${line}`);
};

const withLineEnd = (text: string): string => (text.endsWith('\n') ? text : `${text}\n`);
