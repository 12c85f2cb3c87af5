import type { Value } from "@stackwright/cty";
import type { OutputRoom } from "./paced-lines.ts";

/** A provisioner with everything known, without marks. */
interface ProvisionerCall {
  readonly type: string;
  /** Of the object type of its schema. */
  readonly config: Value;
  /** Of the object type of connections; undefined where the configuration has none. */
  readonly connection: Value | undefined;
}

/** What a running provisioner reports to, and what ends it. */
export interface ProvisionerContext {
  /** Ends the command, or the connection. */
  readonly signal: AbortSignal;
  /** Receives each line of output. */
  readonly onOutput: (line: string) => void;
  /** @default there is always room for more output */
  readonly room?: OutputRoom;
}

/**
 * Executes provisioners. Rejects where one fails: the message of the error is what the user reads, and may contain
 * output of the command.
 */
export interface ProvisionerRunner {
  run(call: ProvisionerCall, context: ProvisionerContext): Promise<void>;
}

/** An argument that is a text, where it is set. */
export function textOf(object: Value, name: string): string | undefined {
  const value = memberOf(object, name);
  return value === undefined ? undefined : value.asString();
}

/** The elements of an argument that is a list of texts; undefined where it is not set. */
export function textsOf(object: Value, name: string): readonly string[] | undefined {
  const value = memberOf(object, name);
  return value?.elements().map((element) => (element.isNull ? "" : element.asString()));
}

/** An argument that is set. */
export function memberOf(object: Value, name: string): Value | undefined {
  if (object.isNull) return undefined;
  const value = new Map(object.entries()).get(name);
  return value === undefined || value.isNull ? undefined : value;
}
