import { type Paint, paintFor } from './paint.ts';

/** Where the CLI speaks: answers and data on stdout, all talk on stderr. */
export interface Terminal {
  /** A person can be asked: stdin and stderr are terminals. */
  readonly mayAsk: boolean;
  /** Stdout is a terminal too, so an answer can be shown while it is being written. */
  readonly showsAnswer: boolean;
  /** For talk. */
  readonly paint: Paint;
  /** For data that people read. */
  readonly dataPaint: Paint;
  /** One line of talk, below whatever was written last. Foreign text in it was made visible before. */
  say(line?: string): void;
  /** Data, as it is. */
  write(text: string): void;
  /** Resolves when everything has left this process. */
  flush(): Promise<void>;
}

type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env'>;

/** `onGone` is called when nobody reads stdout any more. */
export function openTerminal(
  { stdin, stdout, stderr, env }: Streams,
  onGone: () => void,
): Terminal {
  let isMidLine = false;
  let isGone = false;
  stdout.on('error', () => {
    if (!isGone) onGone();
    isGone = true;
  });
  // Without a reader of talk there is nobody to tell.
  stderr.on('error', () => {});
  return {
    mayAsk: Boolean(stdin.isTTY && stderr.isTTY),
    showsAnswer: Boolean(stdout.isTTY),
    paint: paintFor(stderr, env),
    dataPaint: paintFor(stdout, env),
    say(line = '') {
      if (isMidLine && stdout.isTTY) stdout.write('\n');
      isMidLine = false;
      stderr.write(`${line}\n`);
    },
    write(text) {
      if (text === '' || isGone) return;
      stdout.write(text);
      isMidLine = !text.endsWith('\n');
    },
    flush: async () => {
      await Promise.all([flushed(stdout), flushed(stderr)]);
    },
  };
}

const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.writable) stream.write('', () => resolve());
    else resolve();
  });
