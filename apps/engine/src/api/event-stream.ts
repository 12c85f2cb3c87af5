import { sleep } from "@stackwright/base/clock";
import { isRegistryError } from "@stackwright/registry";
import type { FastifyRequest } from "fastify";
import { isServerError } from "../domain/server-error.ts";
import type { ApiParts } from "./api-parts.ts";

/** How often the token of a reader is looked at again. */
const RECHECK_MS = 1_500;

/** Aborts a stream whose reader's token was revoked, or lost its role. A store that is away is no refusal. */
export async function endWhenRefused(
  { clock, authorizeAgain }: Pick<ApiParts, "clock" | "authorizeAgain">,
  request: FastifyRequest,
  gone: AbortController,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sleep(clock, RECHECK_MS, signal);
      await authorizeAgain(request);
    } catch (error) {
      const isRefused =
        isRegistryError(error, "REGISTRY_UNAUTHENTICATED") ||
        isRegistryError(error, "REGISTRY_FORBIDDEN") ||
        isServerError(error, "forbidden", "not_found", "unauthenticated");
      if (isRefused) gone.abort();
    }
  }
}

/** A slow reader is waited for: nothing is queued for it. */
export async function drained(stream: NodeJS.EventEmitter, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    stream.on("drain", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
