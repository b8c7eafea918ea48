import { type Replay, replayRun } from '../runtime/replay.ts';
import { exitCodes } from './exit-code.ts';
import { jsonLine, safeJson } from './json-line.ts';
import type { Paint } from './paint.ts';
import { findRunId, shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { formatCount, showLine } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import type { Terminal } from './terminal.ts';

export interface ReplayOptions {
  readonly store: string;
  readonly json?: true;
}

/** `pawl replay`. Exit code 1 when something came out differently. @throws PawlError `unknown_run`, `invalid_input` */
export async function replayCommand(
  text: string,
  { json }: ReplayOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const replay = await withStore(place, async (store) =>
    replayRun(store, await findRunId(store, text)),
  );
  const code = replay.difference ? exitCodes.failed : exitCodes.completed;
  if (json) {
    terminal.write(jsonLine({ type: 'replay', ...replay }));
    const reason = replay.difference ? 'It came out differently.' : 'It came out the same.';
    terminal.write(exitLine({ code, reason, result: null, pending: [] }));
  } else {
    terminal.write(`${replayLines(replay, terminal.dataPaint).join('\n')}\n`);
  }
  return code;
}

export function replayLines(replay: Replay, paint: Paint): readonly string[] {
  const { runId, fromTurn, turns, events, replies, results, difference } = replay;
  const heard = [
    counted(turns, 'turn'),
    counted(events, 'event'),
    `${counted(replies, 'model reply', 'model replies')} and ${counted(results, 'tool result')} from the store`,
  ].join(', ');
  return [
    `  ${paint('bold', showLine(shortId(runId)))} ${paint('dim', '·')} played again from turn ${fromTurn}: ${heard}`,
    ...(difference
      ? differenceLines(difference, paint)
      : [
          `  ${paint('good', '✓')} Every step came out byte for byte as it is stored. Nothing was called.`,
        ]),
  ];
}

function differenceLines(
  { saveVersion, path, stored, replayed }: NonNullable<Replay['difference']>,
  paint: Paint,
): readonly string[] {
  const where = saveVersion === null ? 'at last' : `at step ${saveVersion}`;
  return [
    `  ${paint('bad', '✗')} The first difference, ${where}: ${showLine(path)}`,
    `      stored    ${excerpt(stored)}`,
    `      replayed  ${excerpt(replayed)}`,
  ];
}

const maxShown = 200;

function excerpt(value: unknown): string {
  const text = safeJson(value);
  return showLine(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text);
}

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;
