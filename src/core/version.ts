/** The version of this package, as its package.json has it. */
export const pawlVersion = '0.1.0';
