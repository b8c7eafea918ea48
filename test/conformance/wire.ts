/** Recorded answers of a model server, read by the provider and compared with what they mean. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropic, type ContentBlock, type ModelReply, PawlError } from 'pawl';
import { isObject, type Recording } from './load-case.ts';
import type { Verdict } from './play.ts';
import { match } from './server.mjs';

const words = new Set(['content', 'text', 'stopReason', 'usage', 'error', 'next']);
/** Small, and no divisor of anything, so that pieces end inside of lines and characters. */
const pieceBytes = 7;

export async function playRecording(recording: Recording): Promise<Verdict> {
  const startedAt = performance.now();
  const verdict = (kind: Verdict['kind'], reasons: readonly string[]): Verdict => ({
    id: `wire/${recording.id}`,
    mode: recording.kind,
    kind,
    reasons,
    durationMs: Math.round(performance.now() - startedAt),
    isTroubled: false,
    killCount: 0,
  });
  const unknown = unknownWordsOf(recording);
  if (unknown.length > 0) return verdict('failed', unknown);
  if (recording.api !== 'anthropic') return verdict('skipped', ['no OpenAI provider yet']);
  const whole = await compare(recording, Number.POSITIVE_INFINITY);
  const inPieces = recording.kind === 'sse' ? await compare(recording, pieceBytes) : [];
  const failures = [...whole, ...inPieces.map((failure) => `in pieces: ${failure}`)];
  return verdict(failures.length > 0 ? 'failed' : 'passed', failures);
}

function unknownWordsOf({ api, kind, expected }: Recording): readonly string[] {
  const known = api === 'anthropic' ? words : new Set([...words, 'toolCalls', 'reasoning']);
  return [
    ...(['anthropic', 'openai'].includes(api) ? [] : [`unknown api "${api}"`]),
    ...(['json', 'sse'].includes(kind) ? [] : [`unknown kind "${kind}"`]),
    ...(Object.keys(expected).length > 0 ? [] : ['it expects nothing']),
    ...Object.keys(expected)
      .filter((word) => !known.has(word))
      .map((word) => `expected: unknown word "${word}"`),
  ];
}

async function compare(recording: Recording, sizeBytes: number): Promise<readonly string[]> {
  const { server, url, bodies } = await serve(recording, sizeBytes);
  try {
    const { reply, error } = await ask(recording, url, []);
    const { error: expectedError, next, ...expected } = recording.expected;
    if (expectedError !== undefined) return match(expectedError, error ?? 'no error', 'error');
    if (!reply) return [`unexpected error ${error}`];
    const failures = match(expectedReply(expected), observedReply(reply), 'reply');
    if (next === undefined) return failures;
    await ask(recording, url, reply.content);
    const sentBack = (bodies.at(-1) as { messages: unknown[] }).messages.at(-1);
    const wanted = { role: 'assistant', content: { $exact: expected.content } };
    return [...failures, ...match(wanted, sentBack, 'sent back')];
  } finally {
    await close(server);
  }
}

/** The first call of all loads the client library. No case reckons with the time that this takes. */
export const loadClient = async (): Promise<void> => {
  await ask({ kind: 'json' }, 'http://127.0.0.1:1', []);
};

/** Arguments that were cut off are kept as the text they are, so that nobody takes them for whole. */
const expectedReply = ({ content, ...rest }: Recording['expected']): unknown => ({
  ...rest,
  ...(Array.isArray(content) && { content: content.map(expectedBlock) }),
});

function expectedBlock(block: unknown): unknown {
  if (!isObject(block) || !('inputIsIncomplete' in block)) return block;
  const { inputIsIncomplete: _, ...rest } = block;
  return { ...rest, input: { INVALID_JSON: { $type: 'string' } } };
}

const observedReply = ({ content, stopReason, usage }: ModelReply): unknown => ({
  content,
  stopReason,
  usage,
  text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
});

async function ask(
  { kind }: Pick<Recording, 'kind'>,
  baseURL: string,
  answer: readonly ContentBlock[],
) {
  const model = anthropic('claude-test-1', { baseURL, apiKey: 'sk-test', caching: false });
  const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Go.' }] }];
  const request = {
    system: '',
    messages:
      answer.length > 0 ? [...messages, { role: 'assistant' as const, content: answer }] : messages,
    tools: [],
    toolChoice: 'auto' as const,
    maxTokens: 1_024,
    streams: kind === 'sse',
    container: null,
  };
  try {
    const { signal } = new AbortController();
    return { reply: await model.call(request, { signal, onDelta: () => {} }), error: null };
  } catch (error) {
    return { reply: null, error: PawlError.is(error) ? error.code : String(error) };
  }
}

async function serve({ status, headers, body }: Recording, sizeBytes: number) {
  const bodies: unknown[] = [];
  const bytes = Buffer.from(body);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(status, headers);
    for (let at = 0; at < bytes.length; at += sizeBytes) {
      response.write(bytes.subarray(at, at + Math.min(sizeBytes, bytes.length)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, bodies, url: `http://127.0.0.1:${port}` };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
