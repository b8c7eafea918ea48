import type { Message } from './message.ts';

interface Seen<State> {
  readonly state: State;
  /** The messages that `state` is of. An own list: a caller may change its own. */
  readonly messages: Message[];
}

/**
 * What `take` gathers from a transcript, message by message. A transcript only grows, so of one that was asked for before
 * nothing but the new messages are looked at. The state is shared: whoever asks must not change it.
 */
export function gathered<State extends object>(
  begin: () => State,
  take: (state: State, message: Message) => void,
): (messages: readonly Message[]) => State {
  const known = new WeakMap<Message, Seen<State>>();
  return (messages) => {
    const [first] = messages;
    if (!first) return begin();
    const before = known.get(first);
    const isGrown = before?.messages.every((message, index) => message === messages[index]);
    const seen = before && isGrown ? before : { state: begin(), messages: [] };
    known.set(first, seen);
    for (let index = seen.messages.length; index < messages.length; index += 1) {
      const message = messages[index] as Message;
      take(seen.state, message);
      seen.messages.push(message);
    }
    return seen.state;
  };
}
