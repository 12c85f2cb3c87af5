import { isJsonObject } from "@stackwright/base/json";
import type { ClientError } from "@stackwright/client";
import { commandVersion } from "../command-version.ts";

/** A server that does not say its release in that time keeps no refusal from being shown. */
const TIMEOUT_MS = 5_000;
/** Several times that of today. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

/**
 * What to do where a server refuses a request since it is of another release than this command: it has no such route, or does not know a
 * member of the request. Names both releases, as far as the server says its own. Undefined for all other refusals.
 */
export async function releaseAdvice(
  error: ClientError,
  server: string,
): Promise<string | undefined> {
  const hasNoRoute =
    error.code === "not_found" && error.message.startsWith("the server has no such route");
  const isUnknown = error.code === "invalid_request" && (error.problem?.errors ?? []).length > 0;
  if (!hasNoRoute && !isUnknown) return undefined;
  const own = commandVersion();
  const other = await releaseOf(server);
  const order = other === undefined ? undefined : await compareReleases(other, own);
  if (order !== undefined && order !== 0) {
    const text = `The server is of ${order < 0 ? "an earlier" : "a later"} release (${other}) than this command (${own})`;
    return order < 0
      ? `${text}: upgrade it, or use the command of its release.`
      : `${text}: use the command of its release.`;
  }
  // What it refuses of a request is otherwise wrong in both.
  if (!hasNoRoute) return undefined;
  return order === 0
    ? `Server and command both say the release ${own}, and differ: install one build for both.`
    : `The server is of an earlier release than this command (${own}): upgrade it, or use the command of its release.`;
}

/** The release that a server says in its document, which needs no token. */
async function releaseOf(server: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`${server}/openapi.json`, {
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of answer.ok ? (answer.body ?? []) : []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_DOCUMENT_BYTES) return undefined;
      chunks.push(chunk);
    }
    const document: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const info = isJsonObject(document) ? document["info"] : undefined;
    const version = isJsonObject(info) ? info["version"] : undefined;
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}

/** Negative where the first release is the earlier one; undefined where one is no version. */
async function compareReleases(one: string, other: string): Promise<number | undefined> {
  // Most commands need nothing of it.
  const { isStrictVersion, Version } = await import("@stackwright/provider-source");
  if (!isStrictVersion(one) || !isStrictVersion(other)) return undefined;
  return Version.compare(Version.parse(one), Version.parse(other));
}
