/** The programs of the harness. */
import { programsFrom } from '../programs.ts';

export const programs = programsFrom({
  life: 'test/crash/processes/life.ts',
  racer: 'test/crash/processes/racer.ts',
});
