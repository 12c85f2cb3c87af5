import type { Clock } from "@stackwright/base/clock";
import type { openServerFunctions, SchemaChange } from "@stackwright/core";
import type { Registry } from "@stackwright/registry";
import type { FindSchemaChanges } from "./domain/find-schema-changes.ts";
import { ServerError } from "./domain/server-error.ts";
import { SharedCalls } from "./shared-calls.ts";

interface SchemaChangeParts {
  readonly registry: Pick<Registry, "showVersion" | "showHealth">;
  readonly region: string;
  readonly clock: Clock;
  readonly functions: Pick<Awaited<ReturnType<typeof openServerFunctions>>, "schemaChanges">;
}

interface Kept {
  /** Undefined where a function did not answer. */
  readonly changes: readonly SchemaChange[] | undefined;
  readonly code: string;
  readonly untilMs: number;
}

/** A function behind the same URN may be replaced: its health check sees that, and so does this time. */
const KEPT_MS = 5 * 60_000;
/** A function that does not answer is not asked by each viewer again. */
const FAILED_MS = 15_000;
/** Comparisons that are kept, and changes of all of them. */
const MAX_KEPT = 256;
const MAX_CHANGES = 50_000;

/**
 * Compares the schemas of two versions by asking their functions. What they said is kept for a while, under the digests of
 * the schemas that the last checks of their health saw: viewers who look again call no function, and those who look at the same time
 * share one call.
 */
export function createSchemaChanges({
  registry,
  region,
  clock,
  functions,
}: SchemaChangeParts): FindSchemaChanges {
  const kept = new Map<string, Kept>();
  const calls = new SharedCalls<readonly SchemaChange[]>();
  let size = 0;
  const drop = (key: string): void => {
    const found = kept.get(key);
    if (!kept.delete(key)) return;
    size -= found?.changes?.length ?? 0;
  };
  const keep = (key: string, one: Kept): void => {
    drop(key);
    const added = one.changes?.length ?? 0;
    if (added > MAX_CHANGES) return;
    kept.set(key, one);
    size += added;
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT && size <= MAX_CHANGES) return;
      drop(oldest);
    }
  };
  return async ({ account, name, from, to }, options) => {
    const scope = { account, region };
    const one = async (version: string) => {
      const at = { name, version };
      const [shown, health] = await Promise.all([
        registry.showVersion(scope, at, options),
        registry.showHealth(scope, at, options),
      ]);
      const { versionId, functionUrn } = shown;
      return { ...shown, key: [versionId, functionUrn, health?.schemaDigest ?? ""] };
    };
    const [before, after] = await Promise.all([one(from), one(to)]);
    const { source } = before;
    const key = JSON.stringify([account, before.key, after.key]);
    const found = kept.get(key);
    if (found !== undefined && clock.monotonicMs() < found.untilMs) {
      if (found.changes === undefined) throw noAnswer(found.code, undefined);
      return { source, changes: found.changes };
    }
    const asked = { account, before: before.functionUrn, after: after.functionUrn };
    const compare = async (signal: AbortSignal): Promise<readonly SchemaChange[]> => {
      try {
        const changes = await functions.schemaChanges(asked, { signal });
        keep(key, { changes, code: "", untilMs: clock.monotonicMs() + KEPT_MS });
        return changes;
      } catch (error) {
        const code = codeOf(error);
        // Who gave up says nothing about a function.
        if (!signal.aborted) {
          keep(key, { changes: undefined, code, untilMs: clock.monotonicMs() + FAILED_MS });
        }
        throw noAnswer(code, error);
      }
    };
    return { source, changes: await calls.ask(key, compare, options.signal) };
  };
}

/** Viewers learn that and how a function failed; where it is, which texts of errors say, is for the log. */
function noAnswer(code: string, cause: unknown): ServerError {
  const how = code === "" ? "" : ` (${code})`;
  const text = `a function of these versions does not answer as it should${how}; the log of the server says more`;
  return new ServerError("upstream_failed", text, { cause });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^FG_[A-Z_]{1,40}$/.test(code) ? code : "";
}
