/** The world that outlives a process: what was done in it, and the points at which a process may die. */

/** One thing that happened. What a life noted stays, however the life ends. */
export type Note =
  | { readonly what: 'life' }
  /** The store has said that this save is durable. */
  | { readonly what: 'saved'; readonly version: number }
  /** The store has said that a save was not kept. */
  | { readonly what: 'refused' }
  /** The model is asked for the reply that follows so many others. */
  | { readonly what: 'model begun'; readonly reply: number }
  | { readonly what: 'model busy'; readonly reply: number }
  | { readonly what: 'model billed'; readonly reply: number; readonly micros: number }
  | {
      readonly what: 'tool begun';
      readonly callId: string;
      readonly key: string;
      readonly attempt: number;
    }
  | { readonly what: 'tool acted'; readonly callId: string; readonly micros: number }
  | { readonly what: 'tool failed'; readonly callId: string }
  /** A person's word was taken as durable. */
  | { readonly what: 'approved'; readonly callId: string }
  | { readonly what: 'posted approval'; readonly callId: string }
  | { readonly what: 'settled'; readonly callId: string }
  | { readonly what: 'retried'; readonly callId: string }
  /** A person was asked for what was taken as durable before. */
  | { readonly what: 'asked again'; readonly callId: string }
  | { readonly what: 'steered' }
  | {
      readonly what: 'ended';
      readonly status: string;
      readonly error: string | null;
      readonly messages: readonly unknown[];
      readonly costMicros: number;
      readonly turns: number;
    }
  /** The process was stopped here, and was let go on. */
  | { readonly what: 'asleep' }
  | { readonly what: 'awake' }
  /** The store could not be used, and said so. */
  | { readonly what: 'trouble'; readonly code: string; readonly message: string }
  /** How often each boundary was met in a life that ended by itself. */
  | { readonly what: 'boundaries'; readonly counts: { readonly [boundary: string]: number } };

/** A note, and the life that made it. */
export type Noted = Note & { readonly by: string };

export interface World {
  note(note: Note): void;
  /** Everything that was noted, oldest first, in all lives. */
  notes(): readonly Note[];
  /** A boundary is met: the process may die here. */
  meet(boundary: string): void;
  /** Another process may be at work on the run still: what it began may happen yet. */
  readonly hasOthers: boolean;
  /** This process was away for long, and others may have taken its place. */
  isLate(): boolean;
}

/** A boundary's n-th time, counted from 1. */
export interface Point {
  readonly boundary: string;
  readonly time: number;
}

export const nameOf = ({ boundary, time }: Point): string => `${boundary} ${time}`;

export const notesOf = <Made extends Note, What extends Note['what']>(
  notes: readonly Made[],
  what: What,
): readonly Extract<Made, { readonly what: What }>[] =>
  notes.filter((note): note is Extract<Made, { readonly what: What }> => note.what === what);

/** A world in this process, for lives that end without dying. */
export function memoryWorld(): World {
  const notes: Note[] = [];
  return {
    note: (note) => void notes.push(note),
    notes: () => notes,
    meet: () => {},
    hasOthers: false,
    isLate: () => false,
  };
}
