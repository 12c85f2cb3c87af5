import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Decoders, STRUCT_DECODERS, schemaDecoders } from "./subjects.ts";

/** Bytes for each byte of the encoded message. */
interface Memory {
  /** Of heap and buffers that the decoded message keeps. */
  readonly retained: number;
  /** By which the process grew while decoding. */
  readonly grown: number;
}

export type MessageName = "struct" | "schema";

/** Measures in a process of its own, where nothing but the encoded message is on the heap. */
export function measureMemory(message: MessageName, side: keyof Decoders, bytes: Buffer): Memory {
  const folder = mkdtempSync(join(tmpdir(), "bench-proto-"));
  try {
    const file = join(folder, "message");
    writeFileSync(file, bytes);
    const result = spawnSync(process.execPath, [import.meta.filename, message, side, file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (result.status !== 0) throw new Error(`measuring ${message} of ${side} failed`);
    return JSON.parse(result.stdout) as Memory;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measureHere(decode: (bytes: Buffer) => unknown, bytes: Buffer): Promise<Memory> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const inUse = async () => {
    // What finalizers and the last turns keep goes with a later collection.
    for (let i = 0; i < 3; i += 1) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = await inUse();
  const residentBefore = process.memoryUsage.rss();
  const kept = [decode(bytes)];
  const grown = process.memoryUsage.rss() - residentBefore;
  const retained = (await inUse()) - before;
  if (kept.pop() === undefined) throw new Error("nothing was decoded");
  return { retained: retained / bytes.length, grown: grown / bytes.length };
}

const [, script, message, side, file = ""] = process.argv;
if (script === import.meta.filename) {
  const decoders = message === "struct" ? STRUCT_DECODERS : await schemaDecoders();
  const measured = await measureHere(decoders[side as keyof Decoders], readFileSync(file));
  console.log(JSON.stringify(measured));
}
