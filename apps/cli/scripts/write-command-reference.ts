import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { ALL_COMMANDS } from "../src/program/all-commands.ts";
import { commandReference } from "../src/program/command-reference.ts";
import { createProgram } from "../src/program/program.ts";

// Writes docs/commands.md from the definitions of the commands.
const never = new AbortController().signal;
const streams = { input: Readable.from([]), output: new PassThrough(), error: new PassThrough() };
const program = createProgram(
  { streams: { ...streams, env: {} }, cwd: "/", signal: never, forceSignal: never },
  () => undefined,
  ALL_COMMANDS,
);
writeFileSync(join(import.meta.dirname, "../docs/commands.md"), commandReference(program));
