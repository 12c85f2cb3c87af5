import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readPolicyUpload } from "../../policy/read-upload.ts";

/**
 * The bundle that `opa build -t wasm -e stackwright -e shapes/deny -e shapes/allow -e shapes/violation -e shapes/memory -e shapes` made of
 * the sources beside it.
 */
export function policyBundle(): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(readFileSync(join(import.meta.dirname, "policies.tar.gz")));
}

/** The WebAssembly module of the bundle. */
export function policyProgram(): Uint8Array<ArrayBuffer> {
  const upload = readPolicyUpload(policyBundle());
  if (upload.format === "rego") throw new Error("the bundle has no module");
  return upload.program;
}
