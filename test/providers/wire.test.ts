import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { type ContentBlock, invalidJsonKey, textIn, userMessage } from '../../src/core/message.ts';
import { anthropic } from '../../src/providers/anthropic.ts';
import { bodyOf, type ReplyServer, startReplyServer } from './reply-server.ts';

/** A recorded answer of the API, and what it has to be read as. */
interface Recording {
  readonly id: string;
  readonly kind: 'sse' | 'json';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly expected: {
    readonly error?: string;
    readonly content?: readonly { readonly inputIsIncomplete?: true }[];
    readonly text?: string;
    readonly stopReason?: string;
    readonly usage?: object;
  };
}

const folder = new URL('../fixtures/wire/', import.meta.url);
const recordings = readdirSync(folder)
  .filter((name) => name.startsWith('anthropic-'))
  .map((name): Recording => JSON.parse(readFileSync(new URL(name, folder), 'utf8')));

let server: ReplyServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function read({ kind, status, headers, body }: Recording, pieceBytes: number) {
  server = await startReplyServer(async (response) => {
    response.writeHead(status, headers);
    response.socket?.setNoDelay(true);
    for await (const piece of bodyOf(body, pieceBytes)) response.write(piece);
    response.end();
  });
  const model = anthropic('claude-sonnet-4-6', { apiKey: 'key-of-a-test', baseURL: server.url });
  const deltas: string[] = [];
  const request = {
    system: '',
    messages: [userMessage('Go.')],
    tools: [],
    toolChoice: 'auto',
    maxTokens: 100,
    streams: kind === 'sse',
    container: null,
  } as const;
  const onDelta = (delta: { type: string; text: string }) =>
    deltas.push(delta.type === 'text' ? delta.text : '');
  const reply = await model.call(request, { signal: new AbortController().signal, onDelta });
  return { reply, told: deltas.join('') };
}

/** The recording can't say what a cut input is kept as, but that it is kept. */
const expectedBlock = (block: { readonly inputIsIncomplete?: true }) => {
  const { inputIsIncomplete, ...rest } = block;
  const input = { [invalidJsonKey]: expect.any(String) };
  return inputIsIncomplete ? { ...rest, input } : rest;
};

const textOf = (content: readonly ContentBlock[]) => textIn(content);

describe.each([1, 40, 100_000])('in pieces of %i bytes', (pieceBytes) => {
  const replies = recordings.filter(({ expected }) => expected.error === undefined);
  const errors = recordings.filter(({ expected }) => expected.error !== undefined);

  it.each(replies.map((recording) => [recording.id, recording] as const))(
    '%s is read as recorded',
    async (_id, recording) => {
      const { reply, told } = await read(recording, pieceBytes);
      const { content, text, stopReason, usage } = recording.expected;
      expect(reply.stopReason).toBe(stopReason);
      expect(reply.usage).toMatchObject(usage ?? {});
      if (content) expect(reply.content).toEqual(content.map(expectedBlock));
      if (text) expect(textOf(reply.content)).toBe(text);
      expect(told).toBe(recording.kind === 'sse' ? textOf(reply.content) : '');
    },
  );

  it.each(errors.map((recording) => [recording.id, recording] as const))(
    '%s fails as recorded',
    async (_id, recording) => {
      const failed = read(recording, pieceBytes);
      await expect(failed).rejects.toMatchObject({ code: recording.expected.error });
    },
  );
});

it('every recording is of one kind or the other', () => {
  expect(recordings.map(({ id }) => id)).toHaveLength(12);
});
