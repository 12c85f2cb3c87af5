import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { AnsweredSchema } from "@stackwright/core";
import type { BlobStore } from "@stackwright/storage/blob";
import {
  MAX_SCHEMA_BLOB_BYTES,
  MAX_SCHEMA_BYTES,
  type OfferedSchema,
} from "../domain/upstream-schema.ts";
import type { ExecutionHost } from "./executor.ts";

interface HandingParts {
  readonly host: Pick<ExecutionHost, "handInSchema" | "onEvent">;
  readonly blobs: Pick<BlobStore, "write">;
  readonly account: string;
}

/** Providers of one plan whose schemas are handed in. */
const MAX_SCHEMAS = 64;
/** How long the end of a plan waits for a server that takes them. */
const WAIT_MS = 30_000;

const zip = promisify(gzip);

/** Gives the server the schemas of upstream providers that a plan starts, where it has none. A plan does not fail by it. */
export class HandedSchemas {
  readonly #parts: HandingParts;
  readonly #handing = new Map<string, Promise<void>>();

  constructor(parts: HandingParts) {
    this.#parts = parts;
  }

  add(answered: AnsweredSchema): void {
    const key = `${answered.source} ${answered.version}`;
    if (this.#handing.has(key) || this.#handing.size >= MAX_SCHEMAS) return;
    // The next run hands in what this one could not.
    const handed = this.#handIn(answered).catch(() => undefined);
    this.#handing.set(key, handed);
  }

  /** Waits for what was begun, if not for ever. */
  async finish(signal: AbortSignal): Promise<void> {
    if (this.#handing.size === 0) return;
    const over = AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]);
    const ended = Promise.withResolvers<void>();
    const end = (): void => ended.resolve();
    over.addEventListener("abort", end, { once: true });
    if (over.aborted) end();
    await Promise.race([Promise.all(this.#handing.values()), ended.promise]);
    over.removeEventListener("abort", end);
  }

  async #handIn({ source, version, protocol, schema: answer }: AnsweredSchema): Promise<void> {
    const { host, blobs, account } = this.#parts;
    if (answer.length > MAX_SCHEMA_BYTES) return;
    const { sortedSchema } = await import("@stackwright/tfplugin");
    const schema = sortedSchema(answer);
    const digest = createHash("sha256").update(schema).digest("hex");
    const offered: OfferedSchema = { source, version, protocol, digest, bytes: schema.length };
    const said = await host.handInSchema(offered);
    if (said === "other") {
      void host.onEvent(
        {
          type: "diagnostic",
          severity: "warning",
          summary: `${source} ${version} has another schema than it had before`,
          detail:
            "A run handed in another schema of the same version, which the server keeps. A version that is published does not change: compare the checksums of the package in the lock file.",
        },
        Date.now(),
      );
    }
    if (said !== "wanted") return;
    const packed = await zip(schema);
    if (packed.length > MAX_SCHEMA_BLOB_BYTES) return;
    const { sha256, size } = await blobs.write(packed, { owner: account });
    await host.handInSchema({ ...offered, blob: { sha256, bytes: size } });
  }
}
