/** Command lines to go on with, as a person may copy them into a shell. */
import { shortId } from './run-id.ts';
import { showLine } from './show-text.ts';
import { defaultStoreFile } from './store-file.ts';

/** Options that a run was started with and that its store does not keep. */
export interface Kept {
  readonly store: string;
  readonly tools?: string;
  readonly system?: string;
  readonly ask?: true;
  readonly yes?: true;
}

/** One word for a POSIX shell. Hidden characters are shown, and then the word is none to copy. */
export function shellWord(text: string): string {
  const shown = showLine(text);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

const line = (words: readonly string[]): string => words.map(shellWord).join(' ');

const storeWords = ({ store }: Pick<Kept, 'store'>): readonly string[] =>
  store === defaultStoreFile ? [] : ['--store', store];

/** `pawl approve RUN CALL`, and its kin. */
export const tellLine = (
  verb: 'approve' | 'deny' | 'settle',
  runId: string,
  callId: string,
  kept: Pick<Kept, 'store'>,
): string => line(['pawl', verb, shortId(runId), callId, ...storeWords(kept)]);

/** `pawl resume RUN`, with what the store does not know. */
export function resumeLine(runId: string, kept: Kept, ...more: readonly string[]): string {
  const { tools, system, ask, yes } = kept;
  return line([
    'pawl',
    'resume',
    shortId(runId),
    ...more,
    ...storeWords(kept),
    ...(tools === undefined ? [] : ['--tools', tools]),
    ...(system === undefined ? [] : ['--system', system]),
    ...(ask ? ['--ask'] : []),
    ...(yes ? ['--yes'] : []),
  ]);
}
