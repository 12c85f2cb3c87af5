import { fileURLToPath } from "node:url";

/** What the reference command says to the cases, by their names. */
export const RECORDED_VERDICTS = fileURLToPath(
  new URL("../../../fixtures/ephemeral-misuse.json", import.meta.url),
);
