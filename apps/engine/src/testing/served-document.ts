import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OpenApiDocument } from "../openapi/document.ts";
import { serve } from "../serve.ts";

/** The OpenAPI document as a server gives it. */
export async function servedDocument(): Promise<OpenApiDocument> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "openapi-"));
  await using server = await serve(
    { store: "memory:", port: 0, logLevel: "silent", executor: "none" },
    { directory: folder.path, env: {} },
  );
  const answer = await fetch(`${server.url}/openapi.json`);
  return (await answer.json()) as OpenApiDocument;
}
