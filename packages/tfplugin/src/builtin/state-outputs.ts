import { decodeJson, decodeTypeJson, type Value } from "@stackwright/cty";
import { jsonMembers } from "../json/json-members.ts";

/** A root output of a stored state. */
export interface StateOutput {
  readonly value: Value;
  readonly sensitive: boolean;
}

/**
 * The root outputs of a state file of version 4, with exact numbers and the types they were stored with. Empty input
 * gives `undefined`: there is no state. Throws an `Error` that says what is wrong with the file.
 *
 * Source: Terraform's state file format, version 4.
 */
export function readStateOutputs(file: Uint8Array): ReadonlyMap<string, StateOutput> | undefined {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(file);
  if (text.trim() === "") return undefined;
  const parsed = parse(text);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    throw new Error("the state is not a JSON object");
  }
  const { version } = parsed as { version?: unknown };
  if (version !== 4) {
    const found = typeof version === "number" ? `version ${version}` : "no version";
    throw new Error(`the state has ${found}; only version 4 can be read`);
  }
  const outputs = jsonMembers(text).get("outputs");
  if (outputs === undefined || outputs === "null") return new Map();
  if (!outputs.startsWith("{")) throw new Error("the outputs of the state are not an object");
  return new Map(
    [...jsonMembers(outputs)].map(([name, output]) => [name, readOutput(name, output)]),
  );
}

/** The message of the parser would quote the file, which may hold secrets. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("the state is not valid JSON");
  }
}

function readOutput(name: string, text: string): StateOutput {
  const members = text.startsWith("{") ? jsonMembers(text) : new Map<string, string>();
  const value = members.get("value");
  const type = members.get("type");
  if (value === undefined || type === undefined) {
    throw new Error(`output ${JSON.stringify(name)} of the state lacks its value or its type`);
  }
  return {
    value: decodeJson(value, decodeTypeJson(type)),
    sensitive: members.get("sensitive") === "true",
  };
}
