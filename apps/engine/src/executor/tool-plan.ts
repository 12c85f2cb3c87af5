import { gunzipSync, gzipSync } from "node:zlib";
import { readJsonObject } from "@stackwright/base/json";
import { EngineError } from "@stackwright/core/errors";

/** The plan that a tool made, as it is stored, encrypted, in the place of a plan of the engine. */
interface ToolPlan {
  readonly tool: string;
  /** Version of the program. */
  readonly version: string;
  /** The plan as the tool shows it: `show -json`. */
  readonly json: string;
  /** The saved plan, which is applied. */
  readonly file: Uint8Array;
  /** Number of the state version that it was made from; 0 without one. */
  readonly stateNumber: string;
}

const FORMAT = "stackwright.tool-plan/1";
/** Bytes of an unpacked plan. */
const MAX_BYTES = 768 * 1024 ** 2;

export function encodeToolPlan({ file, ...plan }: ToolPlan): Uint8Array {
  const text = JSON.stringify({
    format: FORMAT,
    ...plan,
    file: Buffer.from(file).toString("base64"),
  });
  return gzipSync(text);
}

/** Undefined for the plan of the engine. `ENGINE_STATE_CORRUPT` for a damaged one. */
export function decodeToolPlan(bytes: Uint8Array): ToolPlan | undefined {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return undefined;
  const { object, problem } = readJsonObject(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }));
  if (problem !== undefined || object["format"] !== FORMAT) {
    throw new EngineError("ENGINE_STATE_CORRUPT", "the stored plan of a tool is damaged");
  }
  const text = (name: string): string => {
    const { [name]: value } = object;
    return typeof value === "string" ? value : "";
  };
  return {
    tool: text("tool"),
    version: text("version"),
    json: text("json"),
    file: Buffer.from(text("file"), "base64"),
    stateNumber: text("stateNumber"),
  };
}
