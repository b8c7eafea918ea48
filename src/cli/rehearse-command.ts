import { PawlError } from '../core/errors.ts';
import type { Store } from '../stores/store.ts';
import type { Tool } from '../tools/tool.ts';
import { demoTools } from './demo.ts';
import { exitCodes } from './exit-code.ts';
import { jsonLine } from './json-line.ts';
import { toldOf } from './known-run.ts';
import type { Paint, Style } from './paint.ts';
import { type Rehearsal, rehearse } from './rehearse.ts';
import { pagesOf, shortId } from './run-id.ts';
import { exitLine } from './screen.ts';
import { countOf } from './show-run.ts';
import { showLine, showProse } from './show-text.ts';
import { type StorePlace, withStore } from './store-file.ts';
import type { Terminal } from './terminal.ts';
import { loadTools } from './tools-file.ts';

export interface RehearseOptions {
  readonly store: string;
  readonly tools?: string;
  readonly json?: true;
}

/**
 * `pawl rehearse`: which unfinished runs go on with this version and these tools. Runs nothing, changes nothing. Fails
 * when some run could not go on. @throws PawlError `invalid_input`, `store_failed`
 */
export async function rehearseCommand(
  { tools: file, json }: RehearseOptions,
  terminal: Terminal,
  place: StorePlace,
): Promise<number> {
  const tools = file === undefined ? demoTools() : await loadTools(file, place.folder);
  const all = await withStore(place, (store) => rehearseAll(store, tools));
  const needy = all.filter(({ verdict }) => verdict === 'needs').length;
  const code = needy === 0 ? exitCodes.completed : exitCodes.failed;
  const reason = reasonOf(all.length, needy);
  if (json) {
    for (const rehearsal of all) terminal.write(jsonLine({ type: 'rehearsal', ...rehearsal }));
    terminal.write(exitLine({ code, reason, result: null, pending: [] }));
    return code;
  }
  for (const rehearsal of all) {
    for (const line of rehearsalLines(rehearsal, terminal.dataPaint)) terminal.write(`${line}\n`);
  }
  terminal.say(`  ${terminal.paint(needy === 0 ? 'good' : 'bad', `● ${reason}`)}`);
  return code;
}

function reasonOf(all: number, needy: number): string {
  if (all === 0) return 'No run is unfinished.';
  const count = countOf(all, 'unfinished run');
  return needy === 0 ? `${count}; each can go on.` : `${count}; ${needy} can't go on like this.`;
}

async function rehearseAll(store: Store, tools: readonly Tool[]): Promise<readonly Rehearsal[]> {
  const all: Rehearsal[] = [];
  for await (const { runs, damaged } of pagesOf(store, { status: ['running', 'waiting'] })) {
    for (const { runId } of runs) all.push(...(await rehearsalOf(store, runId, tools)));
    for (const runId of damaged) {
      const notes = ['it is damaged and can not be read'];
      all.push({ runId, verdict: 'needs', needs: ['copy'], notes });
    }
  }
  return all;
}

async function rehearsalOf(
  store: Store,
  runId: string,
  tools: readonly Tool[],
): Promise<readonly Rehearsal[]> {
  try {
    const saved = await store.load(runId);
    // It may have been deleted since it was listed.
    return saved ? [rehearse(saved, tools, { told: await toldOf(store, runId) })] : [];
  } catch (error) {
    if (!PawlError.is(error)) throw error;
    return [{ runId, verdict: 'needs', needs: ['copy'], notes: [showProse(error.message)] }];
  }
}

const marks: { readonly [Verdict in Rehearsal['verdict']]: readonly [Style, string, string] } = {
  resumes: ['good', '✓', 'resumes in'],
  waits: ['warn', '?', 'waits in'],
  needs: ['bad', '✗', ''],
};

/** The verdict, and what else there is to know below it. */
export function rehearsalLines(
  { runId, verdict, notes }: Omit<Rehearsal, 'needs'>,
  paint: Paint,
): readonly string[] {
  const [style, mark, word] = marks[verdict];
  const [first = '', ...rest] = notes.flatMap((note) => note.split('\n'));
  const head = [paint(style, mark), paint('bold', showLine(shortId(runId))), word, first];
  return [
    `  ${head.filter((part) => part !== '').join(' ')}`,
    ...rest.map((note) => `      ${note}`),
  ];
}
