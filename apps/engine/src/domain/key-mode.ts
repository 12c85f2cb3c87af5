import { type Project, Project_Keys } from "@stackwright/proto/stackwright";
import { ServerError } from "./server-error.ts";

/** Who has the keys of the stacks of a project: the server, or those alone who run commands. */
export const KEY_MODES = Object.freeze({
  /** Each stack has those of the first who ran it. */
  either: Project_Keys.KEYS_UNSPECIFIED,
  /** The server decrypts nothing of a stack, and so plans and applies nothing. */
  client: Project_Keys.KEYS_CLIENT,
  /** The server plans and applies every stack. */
  server: Project_Keys.KEYS_SERVER,
});

export type KeyMode = keyof typeof KEY_MODES;

/** The name of a stored mode; one of a newer release is read as the strictest. */
export function keyModeName(stored: Project_Keys): KeyMode {
  return (
    (Object.keys(KEY_MODES) as KeyMode[]).find((name) => KEY_MODES[name] === stored) ?? "client"
  );
}

/** `client_keys` where the server is to have no keys of the stacks of a project. */
export function requireServerKeys({ name, keys }: Pick<Project, "name" | "keys">): void {
  if (keyModeName(keys) !== "client") return;
  throw new ServerError(
    "client_keys",
    `the keys of the stacks of the project ${name} are kept from the server, so it plans, applies and encrypts nothing for them: use commands that have the key, with --store, or let the server have keys, with: stackwright projects set ${name} --keys either`,
  );
}
