import { describe, expect, it, vi } from 'vitest';
import { readSse } from '../../src/providers/sse.ts';
import { bodyOf } from './reply-server.ts';

async function eventsOf(text: string | Uint8Array, pieceBytes: number) {
  const events: unknown[] = [];
  for await (const { name, data } of readSse(bodyOf(text, pieceBytes))) {
    events.push(data.ok ? [name, data.value] : [name, 'not JSON']);
  }
  return events;
}

const one = [[null, { a: 'naïve 数字 😀' }]];
const json = JSON.stringify({ a: 'naïve 数字 😀' });

describe.each([1, 2, 3, 7, 1_000])('in chunks of %i bytes, readSse', (size) => {
  it.each<[string, string, unknown[]]>([
    ['a plain event', `data: ${json}\n\n`, one],
    ['no space after the colon', `data:${json}\n\n`, one],
    ['CRLF line ends', `data: ${json}\r\n\r\n`, one],
    ['CR line ends', `data: ${json}\r\r`, one],
    ['a byte order mark', `\ufeffdata: ${json}\n\n`, one],
    ['comments', `: hi\n\n:\ndata: ${json}\n: 1\n\n: bye\n\n`, one],
    ['ids, retries and unknown fields', `id: 1\nretry: x\nfoo: 2\ndata: ${json}\n\n`, one],
    ['data in several lines', `data: {"a":\ndata: "naïve 数字 😀"}\n\n`, one],
    ['an event line', `event: ping\ndata: {}\n\n`, [['ping', {}]]],
    ['an event without data', `event: ping\n\ndata:\n\ndata: ${json}\n\n`, one],
    ['[DONE]', `data: ${json}\n\ndata: [DONE]\n\n`, one],
    ['data that is not JSON', `data: {"a"\n\ndata: ${json}\n\n`, [[null, 'not JSON'], ...one]],
    ['a last event without its empty line', `data: {}\n\ndata: ${json}`, [[null, {}], ...one]],
    ['a last event that was cut', `data: ${json}\n\ndata: {"b":`, one],
    ['nothing', '', []],
    ['a number out of range', 'data: {"n":1e999}\n\n', [[null, 'not JSON']]],
  ])('reads %s', async (_name, text, expected) => {
    expect(await eventsOf(text, size)).toEqual(expected);
  });

  it('replaces bytes that are not UTF-8', async () => {
    const bytes = Buffer.concat([
      Buffer.from('data: {"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n\n'),
    ]);
    expect(await eventsOf(bytes, size)).toEqual([[null, { a: '\ufffd' }]]);
  });
});

describe('readSse', () => {
  it('rejects when the body breaks off', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('cut')),
    });
    await expect(readSse(body).next()).rejects.toThrow('cut');
  });

  it('lets go of a body whose rest nobody wants', async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('data: {}\n\n')),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const event of readSse(body)) {
      expect(event.data.ok).toBe(true);
      break;
    }
    await vi.waitFor(() => expect(isCancelled).toBe(true));
  });
});
