interface Watch {
  readonly acts: Set<() => void>;
  readonly tell: () => void;
}

const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Acts once when the signal fires, and gives back how to leave it before. Any number of runs may share a signal: it has
 * one listener for all, since Node warns of a leak at the eleventh, and none when the last one has left.
 */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  const watch = watches.get(signal) ?? startWatch(signal);
  watch.acts.add(act);
  return () => {
    if (!watch.acts.delete(act) || watch.acts.size > 0) return;
    signal.removeEventListener('abort', watch.tell);
    watches.delete(signal);
  };
}

function startWatch(signal: AbortSignal): Watch {
  const acts = new Set<() => void>();
  const tell = (): void => {
    for (const act of [...acts]) act();
  };
  signal.addEventListener('abort', tell, { once: true });
  const watch = { acts, tell };
  watches.set(signal, watch);
  return watch;
}
