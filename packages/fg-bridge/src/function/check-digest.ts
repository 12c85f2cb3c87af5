import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { FgBridgeError } from "../errors.ts";

/** @throws FgBridgeError `FG_PROVIDER_START_FAILED` where a program is not the one with this hash */
export async function checkDigest(command: string, expected: string): Promise<void> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(command), hash);
  } catch (cause) {
    throw startFailed(`${command} cannot be read`, cause);
  }
  if (hash.digest("hex") !== expected.toLowerCase()) {
    throw startFailed(`${command} is not the program that was meant: its hash differs`, undefined);
  }
}

function startFailed(text: string, cause: unknown): FgBridgeError {
  return new FgBridgeError("FG_PROVIDER_START_FAILED", text, { cause, retryable: false });
}
