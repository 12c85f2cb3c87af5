import fc from "fast-check";

/**
 * Property tests run fixed seeds, so that a failure on one machine is a failure on all of them.
 * `STACKWRIGHT_SEED` gives another slice (CI derives one from the commit), `STACKWRIGHT_RUNS`
 * multiplies the number of runs (the soak).
 */
const seed = Number(process.env.STACKWRIGHT_SEED ?? 20_171_121);
const factor = Number(process.env.STACKWRIGHT_RUNS ?? 1);

fc.configureGlobal({ seed, numRuns: Math.max(1, Math.round(100 * factor)) });
