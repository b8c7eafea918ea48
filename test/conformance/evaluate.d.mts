/** What is wrong with an observed play; nothing when the case is met. */
export function evaluate(kase: unknown, observed: unknown): string[];
