/** The process in which runs live that are to be killed. */
import { programsFrom } from '../programs.ts';

export const programs = programsFrom({ host: 'test/conformance/processes/host.ts' });
