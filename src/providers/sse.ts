import { createParser } from 'eventsource-parser';
import { type ParsedJson, parseJson } from '../core/json.ts';

/** One server-sent event with its data read as JSON. `name` is its `event:` line, which may be missing. */
export interface SseEvent {
  readonly name: string | null;
  readonly data: ParsedJson;
}

const maxEventChars = 64 * 1024 * 1024;
const lingerMs = 250;

/**
 * The events of a body, whatever the chunks and line ends are. `[DONE]` and events without data are left out.
 * Rejects when the body breaks off. Stopping early lets go of the body. Calls `onWait` before it waits for more bytes.
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  onWait: () => void = () => {},
): AsyncGenerator<SseEvent, void> {
  const { feed, take } = eventQueue();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let isAtEnd = false;
  try {
    while (!isAtEnd) {
      onWait();
      const chunk = await reader.read();
      isAtEnd = chunk.done;
      // A body may end without the empty line that ends its last event.
      feed(chunk.done ? `${decoder.decode()}\n\n` : decoder.decode(chunk.value, { stream: true }));
      // What does not parse at the very end was cut off: no event at all, by the standard.
      yield* take().filter(({ data }) => data.ok || !isAtEnd);
    }
  } finally {
    if (!isAtEnd) void drain(reader);
  }
}

function eventQueue() {
  let ready: SseEvent[] = [];
  const parser = createParser({
    maxBufferSize: maxEventChars,
    onEvent: ({ event, data }) => {
      if (data.trim() === '' || data.trim() === '[DONE]') return;
      ready.push({ name: event ?? null, data: parseJson(data) });
    },
    onError: ({ type }) => {
      if (type !== 'max-buffer-size-exceeded') return;
      ready.push({ name: null, data: { ok: false, reason: 'An event is too long' } });
    },
  });
  const take = (): readonly SseEvent[] => {
    const taken = ready;
    ready = [];
    return taken;
  };
  return { feed: parser.feed, take };
}

/** Reads the rest for a moment, because only a body that was read to its end gives its connection back. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => reader.cancel().catch(() => {}), lingerMs);
  try {
    for (let isDone = false; !isDone; ) isDone = (await reader.read()).done;
  } catch {
    // It broke or was aborted: nobody wants the rest anyway.
  } finally {
    clearTimeout(timer);
  }
}
