/** A random suite that is worth running for much longer than `.ci/run` does. */
export interface SoakJob {
  readonly name: string;
  readonly what: string;
  /** Test files, as filters of vitest. */
  readonly files: readonly string[];
  /** Whether the files need real servers. */
  readonly live: boolean;
  /** Runs of its own, each with another seed; what is done is not repeated after an interruption. */
  readonly slices: number;
  /** `STACKWRIGHT_RUNS` of each slice: how many times the counts of `npm test`. */
  readonly runs: number;
  /** Deadline of one slice. */
  readonly limitMinutes: number;
}

export const SOAK_JOBS: readonly SoakJob[] = [
  {
    name: "properties",
    what: "the property tests of all packages",
    files: [".property.test.ts"],
    live: false,
    slices: 5,
    runs: 5,
    limitMinutes: 30,
  },
];
