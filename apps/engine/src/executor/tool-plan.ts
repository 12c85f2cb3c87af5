import { createGunzip, gunzipSync, gzipSync } from "node:zlib";
import { readJsonObject } from "@stackwright/base/json";
import { EngineError } from "@stackwright/core/errors";
import { ServerError } from "../domain/server-error.ts";

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

/** Begins the saved plan, the last member. In a text of JSON the quotes would have backslashes. */
const FILE = `,"file":"`;

export function encodeToolPlan({ file, ...plan }: ToolPlan): Uint8Array {
  const text = JSON.stringify({
    format: FORMAT,
    ...plan,
    file: Buffer.from(file).toString("base64"),
  });
  return gzipSync(text);
}

/**
 * What the tool shows of its plan, without the saved one: as much as that is unpacked, and no more. Undefined for the plan of the
 * engine. `too_large` for more bytes than the limit, `ENGINE_STATE_CORRUPT` for a damaged one.
 */
export async function readToolPlanJson(
  bytes: Uint8Array,
  maxBytes: number,
): Promise<string | undefined> {
  if (!isToolPlan(bytes)) return undefined;
  const head = await unpackedUntil(bytes, FILE, maxBytes);
  const { object, problem } = readJsonObject(Buffer.concat([head, Buffer.from("}")]));
  if (problem !== undefined || object["format"] !== FORMAT) throw damaged();
  const { json } = object;
  if (typeof json !== "string") throw damaged();
  return json;
}

async function unpackedUntil(bytes: Uint8Array, end: string, maxBytes: number): Promise<Buffer> {
  const gunzip = createGunzip();
  gunzip.end(bytes);
  const chunks: Buffer[] = [];
  let size = 0;
  let last = Buffer.alloc(0);
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      const before = size - last.byteLength;
      const seam = Buffer.concat([last, chunk]);
      chunks.push(chunk);
      size += chunk.byteLength;
      const at = seam.indexOf(end);
      const until = at === -1 ? size : before + at;
      if (until > maxBytes) {
        throw new ServerError("too_large", `the plan of the tool has more than ${maxBytes} bytes`);
      }
      if (at !== -1) return Buffer.concat(chunks).subarray(0, until);
      last = seam.subarray(Math.max(0, seam.byteLength - end.length));
    }
  } catch (error) {
    throw error instanceof ServerError ? error : damaged(error);
  }
  throw damaged();
}

function isToolPlan(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function damaged(cause?: unknown): EngineError {
  const text = "the stored plan of a tool is damaged";
  return new EngineError("ENGINE_STATE_CORRUPT", text, { cause });
}

/** Undefined for the plan of the engine. `ENGINE_STATE_CORRUPT` for a damaged one. */
export function decodeToolPlan(bytes: Uint8Array): ToolPlan | undefined {
  if (!isToolPlan(bytes)) return undefined;
  const { object, problem } = readJsonObject(gunzipSync(bytes, { maxOutputLength: MAX_BYTES }));
  if (problem !== undefined || object["format"] !== FORMAT) throw damaged();
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
