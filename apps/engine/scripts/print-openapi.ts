import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { serve } from "../src/serve.ts";

// Prints the OpenAPI document of a server: what `packages/client` is generated from.

await using folder = await mkdtempDisposable(join(tmpdir(), "openapi-"));
await using server = await serve(
  { store: "memory:", port: 0, logLevel: "silent", executor: "none" },
  { directory: folder.path, env: {} },
);
const answer = await fetch(`${server.url}/openapi.json`);
process.stdout.write(`${JSON.stringify(await answer.json(), undefined, 2)}\n`);
