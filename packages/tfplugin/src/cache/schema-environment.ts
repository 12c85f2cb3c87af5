import { createHash } from "node:crypto";

/** Names under which programs have experiments and previews, whatever their values are. */
const EXPERIMENTS =
  /(?:^|_)(?:EXPERIMENTS?|EXPERIMENTAL|PREVIEWS?|BETA|ALPHA|FEATURES?|FEATURE_FLAGS?)(?:_|$)|^TF_X_/i;
/** What a variable that turns something on or off has as its value. */
const SWITCH = /^(?:|0|1|t|f|y|n|true|false|yes|no|on|off|enabled?|disabled?)$/i;
/** Switches that are about the shell, the terminal or the command, and change from one to the next. */
const OF_THE_SESSION =
  /^(?:_|SHLVL|COLUMNS|LINES|TERM.*|COLOR.*|NO_COLOR|FORCE_COLOR|CLICOLOR.*|SSH_.*|XDG_.*|VSCODE_.*|TF_VAR_.*|TF_CLI_.*|TF_IN_AUTOMATION|TF_INPUT|TF_LOG.*|STACKWRIGHT_.*)$/i;

/**
 * What of an environment the schema of a provider may depend on, as a short text for a key; empty where there is nothing. It is
 * the same for the same switches, in any order, and says no value.
 */
export function schemaEnvironment(env: Readonly<Record<string, string | undefined>>): string {
  const switches = Object.entries(env).flatMap(([name, value = ""]) =>
    (EXPERIMENTS.test(name) || SWITCH.test(value)) && !OF_THE_SESSION.test(name)
      ? [[name, value] as const]
      : [],
  );
  if (switches.length === 0) return "";
  const sorted = switches.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(sorted)).digest("hex");
}
