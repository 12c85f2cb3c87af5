import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { loadBridgeProgram, packBridgeExecutable } from "./bridge-program.ts";

/* Without an older Node: this one, with what came later taken away. */

const LATER = [
  "delete Promise.withResolvers",
  "delete URL.parse",
  "delete globalThis.SuppressedError",
  "delete globalThis.AsyncDisposableStack",
  "delete globalThis.DisposableStack",
];

describe("the program of the bridge", () => {
  it("gets to its handshake without what Node 24 has and Node 20 does not", async () => {
    const manifest = {
      address: "example.com/acme/toy",
      version: "1.0.0",
      functionUrn: "urn:fss:cn-north-7:p:function:default:toy:latest",
      endpoint: { kind: "url" as const, url: "http://127.0.0.1:9" },
      schema: "",
    };
    const program = Buffer.from(packBridgeExecutable(await loadBridgeProgram(), manifest));
    const text = program.toString().replace(/^#!.*\n/, "");
    const result = spawnSync(process.execPath, ["-"], {
      input: `${LATER.join(";")};setTimeout(() => process.kill(process.pid, "SIGTERM"), 1500);\n${text}`,
      encoding: "utf8",
      env: {
        TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
        PLUGIN_PROTOCOL_VERSIONS: "5",
      },
      timeout: 30_000,
    });
    expect(result.stderr).toBe("");
    expect(result.stdout).toMatch(/^1\|5\|unix\|/);
  });
});
