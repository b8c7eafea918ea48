/** The clock of a process, put on at will: a lease of seconds runs out while a test waits for nothing. */
const { now } = Date;
let aheadMs = 0;

/** From now on, this process takes it to be so much later than it did. */
export function putClockOn(ms: number): void {
  aheadMs += ms;
  Date.now = () => now() + aheadMs;
}
