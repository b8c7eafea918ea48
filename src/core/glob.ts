/**
 * Whether the whole name matches the pattern. `*` stands for any run of characters, also none; nothing else
 * is special, and case counts. Takes at most pattern length × name length steps.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  let patternAt = 0;
  let nameAt = 0;
  let lastStarAt = -1;
  let starEndsAt = 0;
  while (nameAt < name.length) {
    if (pattern[patternAt] === '*') {
      lastStarAt = patternAt++;
      starEndsAt = nameAt;
    } else if (pattern[patternAt] === name[nameAt]) {
      patternAt++;
      nameAt++;
    } else if (lastStarAt >= 0) {
      // Only the last star has to grow: what stands before it already matches as early as it can.
      nameAt = ++starEndsAt;
      patternAt = lastStarAt + 1;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === '*') patternAt++;
  return patternAt === pattern.length;
}
