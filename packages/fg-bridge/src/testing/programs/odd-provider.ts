import { spawn } from "node:child_process";
import type { PluginTransport } from "@stackwright/tfplugin";
import { serveTerraformProvider } from "@stackwright/tfplugin/serve";

/* A provider process for tests: tells what it sees, and misbehaves as `MODE` says. */

const mode = process.env.MODE ?? "";
let configured = "";
let child: number | undefined;

if (mode === "exit-at-start") {
  process.stderr.write(`cannot start with ${process.env.GIVEN ?? ""}\n`);
  process.exit(3);
}
if (mode === "silent") setInterval(() => undefined, 1000);
else {
  if (mode === "child") {
    const started = spawn("sleep", ["1234"], { stdio: "ignore" });
    started.unref();
    child = started.pid;
  }
  const provider: PluginTransport = {
    protocol: mode === "protocol-6" ? 6 : 5,
    async unary(method: string, request: Uint8Array): Promise<Uint8Array> {
      if (mode === "noise") {
        process.stderr.write("x".repeat(5 * 1024 * 1024));
        process.stdout.write("y".repeat(5 * 1024 * 1024));
      }
      if (mode === `exit-in-${method}`) {
        process.stderr.write(`panic: ${configured}\n`);
        process.exit(4);
      }
      if (mode === `hang-in-${method}`) await new Promise(() => setInterval(() => undefined, 1000));
      if (method === "Configure") {
        configured = Buffer.from(request).toString();
        return new Uint8Array();
      }
      const { env, pid } = process;
      return Buffer.from(JSON.stringify({ env, pid, child, cwd: process.cwd(), configured }));
    },
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  void serveTerraformProvider({
    protocols: mode === "protocol-6" ? { 6: () => provider } : { 5: () => provider },
  });
}
