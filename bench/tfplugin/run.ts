import { cpus } from "node:os";
import { call } from "./call.ts";
import { carrier } from "./carrier.ts";
import { codec } from "./codec.ts";
import { largeProvider } from "./large-provider.ts";
import { schema } from "./schema.ts";
import { start } from "./start.ts";

/*
 * What drives providers, against the same without it in the same run. `node bench/tfplugin/run.ts [scale] [part]`: a
 * scale of 1 takes about a minute in all.
 */

const SCALE = Number(process.argv[2] ?? 1);
console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);

const PARTS: Readonly<Record<string, (scale: number) => Promise<void>>> = {
  start,
  call,
  carrier,
  codec,
  schema,
  largeProvider,
};
const only = process.argv[3];
for (const [name, part] of Object.entries(PARTS)) {
  if (only === undefined || name === only) await part(SCALE);
}
