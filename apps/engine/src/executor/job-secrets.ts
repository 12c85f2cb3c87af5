import { createRedactor, type Redactor } from "@stackwright/core";
import type { ExecutionJob } from "./execution-job.ts";

type JobSecrets = Pick<ExecutionJob, "variables" | "environment" | "sensitive" | "keys" | "store">;

/** What nothing of an execution may show, whatever providers make of it. */
export function secretsOf(job: JobSecrets): Redactor {
  const secrets = createRedactor();
  for (const secret of secretTextsOf(job)) secrets.add(secret);
  return secrets;
}

/** The secrets themselves, for forms in which whole values are hidden. */
export function secretTextsOf({
  variables,
  environment,
  sensitive,
  keys,
  store,
}: JobSecrets): readonly string[] {
  return [
    ...sensitive.variables.map((name) => variables[name] ?? ""),
    ...sensitive.environment.map((name) => environment[name] ?? ""),
    ...keys.map(({ bytes }) => bytes),
    ...(store === undefined ? [] : [store.token]),
  ];
}
