/** The tool use ids that the model of a case gives. Pawl renames those that repeat or that no API would take. */
export interface ModelIds {
  /** The model's id of a call. */
  of(callId: string): string;
}

export function modelIds(responses: unknown): ModelIds {
  const ids: string[] = [];
  collect(responses, ids);
  const renamed = inOrder(ids);
  return {
    of: (callId) => renamed.get(callId) ?? renamed.get(withoutCount(callId)) ?? callId,
  };
}

/** The names that the ids get when they come in this order: two of them may have the same legal form. */
function inOrder(ids: readonly string[]): ReadonlyMap<string, string> {
  const renamed = new Map<string, string>();
  for (const id of ids) {
    const form = legal(id);
    let name = isLegal(id) ? id : form;
    for (let count = 2; renamed.has(name); count += 1) name = `${form}_${count}`;
    renamed.set(name, id);
  }
  return renamed;
}

const isLegal = (id: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(id);
const legal = (id: string): string => id.slice(0, 56).replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
/** What comes again later, as an answer that is repeated, is counted on. */
const withoutCount = (id: string): string => id.replace(/_\d+$/, '');

/** In messages, in stream events, and in pieces of raw streams. */
function collect(value: unknown, ids: string[]): void {
  if (typeof value === 'string') {
    for (const [, id] of value.matchAll(/"type": ?"tool_use", ?"id": ?"([^"]*)"/g))
      ids.push(id ?? '');
  } else if (typeof value === 'object' && value !== null) {
    const { type, id } = value as { readonly type?: unknown; readonly id?: unknown };
    if (type === 'tool_use' && typeof id === 'string') ids.push(id);
    for (const inner of Object.values(value)) collect(inner, ids);
  }
}
