import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePorts } from "@stackwright/base/free-ports";
import { onTestFinished } from "vitest";

/** A Consul agent of development, which keeps nothing. Its program is named by `TEST_TOOL_CONSUL`. */
export async function startConsul(program: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "consul-"));
  const [http = 0, dns = 0, serf = 0, wan = 0, server = 0, grpc = 0] = await freePorts(6);
  const ports = Object.entries({ http, dns, "serf-lan": serf, "serf-wan": wan, server, grpc });
  const child = spawn(
    program,
    [
      "agent",
      "-dev",
      "-bind=127.0.0.1",
      "-client=127.0.0.1",
      "-log-level=error",
      `-data-dir=${folder}`,
      "-grpc-tls-port=-1",
      ...ports.map(([name, port]) => `-${name}-port=${port}`),
    ],
    { stdio: "ignore", env: { PATH: process.env["PATH"] ?? "", HOME: folder } },
  );
  onTestFinished(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    await rm(folder, { recursive: true, force: true });
  });
  const address = `127.0.0.1:${http}`;
  for (let attempt = 0; ; attempt += 1) {
    const answer = await fetch(`http://${address}/v1/status/leader`).catch(() => undefined);
    if (answer?.ok === true && (await answer.text()).length > 2) return address;
    if (attempt > 300) throw new Error("consul has no leader");
    await delay(100);
  }
}
