import {
  containsSecret,
  decodeValue,
  equalProperties,
  type PropertyValue,
} from "@stackwright/proto/property";
import type { CheckFailure, CheckResponse } from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { MuxError } from "../errors.ts";

import { joinMembers, type StructMember, structMembers } from "./struct-members.ts";

const NOTHING = new Uint8Array() as EncodedStruct;

/** One server's answer to CheckConfig. */
export interface NamedCheck {
  readonly server: string;
  readonly reply: CheckResponse;
  /** Keys that it was given and that its schema declares: one that its reply lacks was dropped. */
  readonly given?: ReadonlySet<string>;
}

export interface CheckCombination {
  /** What to do when servers give one key different values. */
  readonly mismatch: "error" | "first-wins";
  /** Members that are kept when no server returned their key, such as unknown keys. */
  readonly kept: readonly StructMember[];
}

/**
 * Checked inputs and failures of several servers as one reply: inputs are united by key, failures are
 * listed once each in server order. Values that differ by a secret wrapper alone are equal, and the
 * wrapper stays. A value that one server returns and another one dropped, although its schema declares the key,
 * is a difference as well. Differences are `MUX_CONFIG_MISMATCH`, naming servers and keys, or the first
 * server's value is taken.
 *
 * Source: the muxer's documentation (seed 000), CheckConfig.
 */
export function combineChecks(
  checks: readonly NamedCheck[],
  { mismatch, kept }: CheckCombination,
): CheckResponse {
  const united = new Map<string, { server: string; member: StructMember }>();
  const differences: string[] = [];
  for (const { server, reply } of checks) {
    for (const member of structMembers(reply.inputs ?? NOTHING)) {
      const present = united.get(member.key);
      if (present === undefined) {
        united.set(member.key, { server, member });
        continue;
      }
      const verdict = compare(present.member, member);
      if (verdict === "second-is-secret") united.set(member.key, { server, member });
      else if (verdict === "different") {
        differences.push(`${member.key} (${present.server}, ${server})`);
      }
    }
  }
  for (const { server, reply, given } of checks) {
    const kept = new Set(structMembers(reply.inputs ?? NOTHING).map(({ key }) => key));
    for (const key of given ?? []) {
      const present = united.get(key);
      if (kept.has(key) || present === undefined || isNull(present.member)) continue;
      differences.push(`${key} (${present.server}, and not ${server})`);
    }
  }
  if (differences.length > 0 && mismatch === "error") {
    throw new MuxError(
      "MUX_CONFIG_MISMATCH",
      `servers disagree on the checked configuration: ${differences.join(", ")}`,
    );
  }
  const members = [...united.values()].map(({ member }) => member);
  members.push(...kept.filter(({ key }) => !united.has(key)));
  return { inputs: joinMembers(members), failures: distinctFailures(checks) };
}

function compare(first: StructMember, second: StructMember) {
  if (Buffer.compare(first.bytes, second.bytes) === 0) return "equal";
  const a = decodeMember(first);
  const b = decodeMember(second);
  if (!equalProperties(a, b, { secrets: "ignore" })) return "different";
  return containsSecret(b) && !containsSecret(a) ? "second-is-secret" : "equal";
}

function isNull(member: StructMember): boolean {
  return decodeMember(member).kind === "null";
}

function decodeMember({ value }: StructMember): PropertyValue {
  return value === undefined ? { kind: "null" } : decodeValue(value);
}

function distinctFailures(checks: readonly NamedCheck[]): CheckFailure[] {
  const distinct = new Map<string, CheckFailure>();
  for (const failure of checks.flatMap(({ reply }) => reply.failures)) {
    const key = JSON.stringify([failure.property, failure.reason]);
    if (!distinct.has(key)) distinct.set(key, failure);
  }
  return [...distinct.values()];
}
