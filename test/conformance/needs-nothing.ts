/** Words that the runner knows and does nothing for, each with the reason. No other word is ignored. */

/** Of a case. */
export const fieldsThatNeedNothing = {
  theme: 'for people',
  title: 'for people',
  source: 'for people: where the failure was reported',
  description: 'for people',
  confidence: 'for people: how sure the authors are',
} as const;

/** Of `config.limits`. */
export const limitsThatNeedNothing = {
  abortGraceMs: 'Pawl waits for no tool that was told to stop: a cancelled run ends without grace',
} as const;
