import { changedReads } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import { earlierDigest } from "../configuration/configuration-digest.ts";
import { EngineError } from "../errors.ts";
import type { Plan } from "./plan.ts";

/** How many files a message names. */
const NAMED = 5;

/**
 * `ENGINE_CONFIG_CHANGED` unless the configuration, and every file that its functions read for the plan, is what it was. The files
 * of a run that continues are not compared: its own changes may have written some of them.
 */
export async function requireSameSources(
  plan: Plan,
  { digest, root }: Configuration,
  continues: () => Promise<boolean>,
): Promise<void> {
  const { configDigest, files } = plan;
  if (configDigest !== undefined && configDigest !== digest) {
    // Plans of release 0.1.0 record no files, and have a digest of another form.
    if (files !== undefined || configDigest !== earlierDigest(root.files)) {
      throw new EngineError(
        "ENGINE_CONFIG_CHANGED",
        "the configuration changed since the plan was made; make a new plan",
      );
    }
  }
  const reads = files === undefined ? [] : changedReads(root.files, files);
  if (reads.length === 0 || (await continues())) return;
  const changed = [...new Set(reads.map(({ path }) => JSON.stringify(path)))];
  const more = changed.length > NAMED ? ` and ${changed.length - NAMED} more` : "";
  const names = `${changed.slice(0, NAMED).join(", ")}${more}`;
  throw new EngineError(
    "ENGINE_CONFIG_CHANGED",
    `files that the configuration reads changed since the plan was made: ${names}; make a new plan`,
    { details: { problems: changed.map((path) => `${path} changed since the plan was made.`) } },
  );
}
