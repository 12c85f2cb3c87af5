/** The names under which the command can be called: by a link, or by `STACKWRIGHT_CALLED_AS` of a wrapper. */
export type CalledAs = "stackwright" | "terraform" | "tofu";

/** The variable in which the launchers, and wrappers of users, say by which name the command was called. */
const VARIABLE = "STACKWRIGHT_CALLED_AS";

/**
 * By which name a process was called. Removes the name from the environment, so that commands which this one starts, such as
 * those of `local-exec`, are called by their own.
 */
export function takeCalledAs(env: NodeJS.ProcessEnv): CalledAs {
  const name = env[VARIABLE];
  delete env[VARIABLE];
  return name === "terraform" || name === "tofu" ? name : "stackwright";
}

/** The name of the reference command where the user named none: that of this call, where it is such a name. */
export function referenceName({ calledAs }: { readonly calledAs: CalledAs }): string {
  return calledAs === "tofu" ? "tofu" : "terraform";
}
