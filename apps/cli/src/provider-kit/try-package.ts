import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { FunctionCaller, FunctionTargetTable } from "@stackwright/fg-bridge";
import {
  FUNCTION_START,
  type PackagedSchema,
  readPackagedSchema,
} from "@stackwright/fg-bridge/package";
import { serveFunctions } from "@stackwright/fg-bridge/runtime";
import type { PackEntry } from "@stackwright/provider-source";

/**
 * Starts a packed function as it is, in a folder where nothing else is, and asks for its schema.
 *
 * @throws FgBridgeError where it does not start, or where engines could not use what it declares
 */
export async function tryPackage(
  files: readonly PackEntry[],
  { signal }: { readonly signal: AbortSignal },
): Promise<PackagedSchema> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-function-"));
  for (const { path, mode = 0o644, content } of files) {
    const file = join(scratch.path, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof content === "function" ? content() : content, { mode });
  }
  const project = "0".repeat(32);
  const urn = `urn:fss:local:${project}:function:default:packed:latest`;
  const key = { accessKey: "packed", secretKey: randomBytes(24).toString("hex") };
  await using server = await serveFunctions({
    functions: [
      {
        urn,
        code: { command: [process.execPath, FUNCTION_START], cwd: scratch.path },
        initTimeoutMs: START_MS,
        timeoutMs: START_MS,
      },
    ],
    accounts: [{ ...key, projects: [project] }],
  });
  await using targets = new FunctionTargetTable({
    regions: { local: { endpoint: server.url, credentials: key } },
    guard: { allow: ["127.0.0.0/8"] },
  });
  const caller = new FunctionCaller();
  const target = targets.resolve(urn, { projects: [project] });
  return await readPackagedSchema(caller.transport({ target }), { signal });
}

/** Large programs are read from the disk when they are first started. */
const START_MS = 60_000;
