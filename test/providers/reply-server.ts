import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on the loopback interface that answers every request by the function it was given. */
export interface ReplyServer {
  readonly url: string;
  readonly bodies: readonly string[];
  readonly close: () => Promise<void>;
}

export async function startReplyServer(
  answer: (response: ServerResponse, request: IncomingMessage) => unknown,
): Promise<ReplyServer> {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(Buffer.concat(chunks).toString());
    await answer(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A body that hands out its bytes in pieces of this size. */
export function bodyOf(text: string | Uint8Array, pieceBytes: number): ReadableStream<Uint8Array> {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + pieceBytes));
      at += pieceBytes;
    },
  });
}

export const toSse = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-test-1',
  content: [],
  stop_reason: null,
  usage: { input_tokens: 20, output_tokens: 1 },
};

export const messageStart = (changed: object = {}) => ({
  type: 'message_start',
  message: { ...message, ...changed },
});
export const blockStart = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
export const blockDelta = (index: number, delta: object) => ({
  type: 'content_block_delta',
  index,
  delta,
});
export const textPiece = (index: number, text: string) =>
  blockDelta(index, { type: 'text_delta', text });
export const inputPiece = (index: number, partial_json: string) =>
  blockDelta(index, { type: 'input_json_delta', partial_json });
export const ended = (stop_reason: string | null, usage: object = { output_tokens: 12 }) => ({
  type: 'message_delta',
  delta: { stop_reason },
  usage,
});
export const stopped = { type: 'message_stop' };
