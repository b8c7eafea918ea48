/** The tool use ids that the model of a case gives. Pawl renames those that repeat or that no API would take. */
export interface ModelIds {
  /** The model's id of a call. */
  of(callId: string): string;
}

export function modelIds(responses: unknown): ModelIds {
  const ids = new Set<string>();
  collect(responses, ids);
  const renamed = new Map([...ids].map((id) => [legal(id), id]));
  return {
    of: (callId) =>
      ids.has(callId)
        ? callId
        : (renamed.get(callId) ?? renamed.get(withoutCount(callId)) ?? callId),
  };
}

const legal = (id: string): string => id.slice(0, 56).replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
const withoutCount = (id: string): string => id.replace(/_\d+$/, '');

/** In messages, in stream events, and in pieces of raw streams. */
function collect(value: unknown, ids: Set<string>): void {
  if (typeof value === 'string') {
    for (const [, id] of value.matchAll(/"type": ?"tool_use", ?"id": ?"([^"]*)"/g))
      ids.add(id ?? '');
  } else if (typeof value === 'object' && value !== null) {
    const { type, id } = value as { readonly type?: unknown; readonly id?: unknown };
    if (type === 'tool_use' && typeof id === 'string') ids.add(id);
    for (const inner of Object.values(value)) collect(inner, ids);
  }
}
