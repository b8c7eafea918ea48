/** Everything that was told so far, and what comes, for any number of listeners, each from the beginning. */
export interface Feed<Event> {
  tell(event: Event): void;
  /** No more will come. */
  end(): void;
  readonly events: AsyncIterable<Event>;
}

export function createFeed<Event>(): Feed<Event> {
  const told: Event[] = [];
  let isOver = false;
  let waiting: (() => void)[] = [];

  const wake = (): void => {
    const listeners = waiting;
    waiting = [];
    for (const listener of listeners) listener();
  };

  async function* listen(): AsyncGenerator<Event, void, undefined> {
    for (let index = 0; ; index += 1) {
      while (index >= told.length) {
        if (isOver) return;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
      yield told[index] as Event;
    }
  }

  return {
    tell(event) {
      if (isOver) return;
      told.push(event);
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    events: { [Symbol.asyncIterator]: listen },
  };
}
