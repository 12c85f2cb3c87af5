import { readJsonObject } from "@stackwright/base/json";
import { invalidField } from "../errors.ts";

/**
 * Reads the JSON object of a request body. Stricter than `JSON.parse`: a name that an object has twice, more
 * than 16 levels and invalid UTF-8 are refused.
 *
 * Throws `REGISTRY_INVALID_FIELD` with `no-body`, `not-json` or `duplicate`.
 */
export function parseBody(body: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  if (body === undefined || body.byteLength === 0) {
    throw invalidField("body", "no-body", "the request has no body");
  }
  const { object, problem } = readJsonObject(body);
  if (problem === undefined) return object;
  if (problem.kind === "duplicate-name") {
    throw invalidField(problem.name, "duplicate", `"${problem.name}" is given twice`);
  }
  throw invalidField("body", "not-json", "the request body is not a JSON object");
}
