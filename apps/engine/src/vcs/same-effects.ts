import { isDeepStrictEqual } from "node:util";
import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { readText } from "./read-text.ts";
import type { VcsParts } from "./vcs-parts.ts";

/** Members of a plan document that say what it does. */
const EFFECTS = ["mode", "partial", "deferred", "changes", "moves", "outputs", "checks"] as const;

/** Whether the plans of two runs do the same, as far as plans are shown: sensitive values are in neither. */
export async function haveSameEffects(
  parts: VcsParts,
  shown: RunReference,
  made: RunReference,
  signal: AbortSignal,
): Promise<boolean> {
  const [first, second] = await Promise.all([
    effectsOf(parts, shown, signal),
    effectsOf(parts, made, signal),
  ]);
  return first !== undefined && second !== undefined && isDeepStrictEqual(first, second);
}

async function effectsOf(
  parts: VcsParts,
  run: RunReference,
  signal: AbortSignal,
): Promise<readonly unknown[] | undefined> {
  const id = idOf(SERVER_KINDS.summary, runPlace(run));
  const found = await readStored(parts.storage, "strong", id);
  if (found === undefined) return undefined;
  const { documentSha256 } = decodeRecord(SERVER_KINDS.summary, found);
  const text = await readText(parts.blobs, documentSha256, signal);
  if (text === undefined) return undefined;
  const document = readExactly(text);
  return EFFECTS.map((name) => document[name]);
}

/** Reads a plan document with its numbers as they are written: large ones that differ are often one number of JavaScript. */
export function readExactly(text: string): Readonly<Record<string, unknown>> {
  const exact = (_name: string, value: unknown, { source }: { source?: string }): unknown =>
    typeof value === "number" ? { number: source } : value;
  // The type of the reviver lacks its third argument.
  return JSON.parse(text, exact as (name: string, value: unknown) => unknown) as Readonly<
    Record<string, unknown>
  >;
}
