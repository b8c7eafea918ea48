/** The text with each lone surrogate replaced by U+FFFD. The length in UTF-16 units stays the same. */
export function toWellFormed(text: string): string {
  // With the u flag a valid pair is one code point, so the class matches lone surrogates only.
  // A run has an end, since an endless one of some megabytes overflows the stack of the engine.
  return text.replace(/[\ud800-\udfff]{1,1000}/gu, (run) => '\ufffd'.repeat(run.length));
}
