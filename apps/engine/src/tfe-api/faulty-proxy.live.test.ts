import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const CONFIGURATION = `
terraform {
  cloud {
    hostname     = "stackwright.test"
    organization = "default"
    workspaces { name = "demo" }
  }
}
resource "terraform_data" "a" { input = "x" }
`;

/**
 * A proxy that answers the first POST of each path 502 after it reached the server, the second one 502 before, and the third one 429.
 * Returns its address.
 */
async function startFaultyProxy(target: string) {
  const seen = new Map<string, number>();
  const counts = { failed: 0 };
  const proxy = createServer((incoming, outgoing) => {
    const { method = "GET", url = "/", headers } = incoming;
    const at = (seen.get(url) ?? 0) + (method === "POST" ? 1 : 0);
    if (method === "POST") seen.set(url, at);
    const fault = method === "POST" ? [502, 502, 429][at - 1] : undefined;
    const fail = (status: number): void => {
      counts.failed += 1;
      outgoing.writeHead(status, status === 429 ? { "x-ratelimit-reset": "0.1" } : {}).end();
    };
    if (fault !== undefined && at > 1) {
      incoming.resume();
      incoming.once("end", () => fail(fault));
      return;
    }
    const forwarded = request(new URL(url, target), { method, headers }, (answer) => {
      if (fault === undefined) {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
        return;
      }
      answer.resume();
      answer.once("end", () => fail(fault));
    });
    forwarded.once("error", () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { counts, url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` };
}

it("plans and applies once each behind a proxy that fails", {
  timeout: 240_000,
}, async (context) => {
  context.skip(
    process.env["STACKWRIGHT_FAULTY_PROXY"] !== "1",
    "the command waits between its attempts; set STACKWRIGHT_FAULTY_PROXY=1",
  );
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run`);
  const api = await startApi();
  const { counts, url } = await startFaultyProxy(api.server.url);
  const root = await terraformRoot(COMMAND, {});
  const services = `"tfe.v2" = "${url}/api/v2/"\n "tfe.v2.1" = "${url}/api/v2/"\n "state.v2" = "${url}/api/v2/"`;
  await writeFile(
    root.env["TF_CLI_CONFIG_FILE"] ?? "",
    `host "stackwright.test" {\n services = {\n ${services}\n }\n}\ncredentials "stackwright.test" {\n token = "${api.first.token}"\n}\n`,
  );
  const made = await api.call("POST", "/api/v2/organizations/default/workspaces", {
    body: { data: { attributes: { name: "demo", "execution-mode": "remote" } } },
  });
  expect(made.status).toBe(201);
  await root.write(CONFIGURATION);
  await root.ok("init");
  expect(await root.ok("plan")).toContain("1 to add");
  expect(await root.ok("apply", "-auto-approve")).toContain("Apply complete");
  expect(counts.failed).toBeGreaterThanOrEqual(3);
  const { json } = await api.call("GET", "/api/v1/projects/default/stacks/demo/runs");
  const phases = (json["runs"] as { phase: string }[]).map(({ phase }) => phase);
  expect(phases.toSorted()).toEqual(["applied", "plan_finished"]);
});
