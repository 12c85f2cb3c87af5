import { once } from "node:events";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { serve } from "../serve.ts";
import { tarOf } from "../testing/tar-of.ts";

const S = "/api/v1/projects/web/stacks/one";
const STATE = JSON.stringify({
  version: 4,
  terraform_version: "1.11.4",
  serial: 1,
  lineage: "11111111-2222-3333-4444-555555555555",
  outputs: {
    open: { value: "shown-word", type: "string" },
    secret: { value: "canary-word", type: "string", sensitive: true },
  },
  resources: [],
});

/** What a server of states answers: a state, or a redirect to another name of this machine. */
async function stateServer(): Promise<string> {
  let port = 0;
  const server = createServer(({ url }, response) => {
    if (url === "/elsewhere") {
      response.writeHead(302, { location: `http://localhost:${port}/state` }).end();
    } else response.end(STATE);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  ({ port } = server.address() as AddressInfo);
  return `http://127.0.0.1:${port}`;
}

const reader = (backend: string, config: string): string => `data "terraform_remote_state" "a" {
  backend = "${backend}"
  config  = ${config}
}
resource "terraform_data" "open" { input = data.terraform_remote_state.a.outputs.open }
resource "terraform_data" "secret" { input = data.terraform_remote_state.a.outputs.secret }
`;

/** A run of a configuration until its plan is there or has failed. */
async function plannedRun(main: string) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "run-remote-state-"));
  onTestFinished(() => scratch.remove());
  const bootstrapFile = join(scratch.path, "first.json");
  const server = await serve(
    { store: "memory:", port: 0, bootstrapFile, logLevel: "silent" },
    { directory: scratch.path, env: { PATH: process.env["PATH"] } },
  );
  onTestFinished(() => server.close());
  const first = JSON.parse(await readFile(bootstrapFile, "utf8")) as BootstrapCredentials;
  const call = async (method: string, path: string, body?: object | Uint8Array<ArrayBuffer>) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${first.token}`,
        ...(body && { "content-type": isBytes ? "application/gzip" : "application/json" }),
      },
      ...(body && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      text,
      json: (text.startsWith("{") ? JSON.parse(text) : {}) as Record<string, unknown>,
    };
  };
  await call("POST", "/api/v1/projects/web/stacks", { name: "one" });
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": main })));
  const { json } = await call("POST", `${S}/configurations`, archive);
  const created = await call("POST", `${S}/runs`, { configuration: json["digest"] });
  const run = `${S}/runs/${String(created.json["id"])}`;
  const show = async () => (await call("GET", run)).json;
  const phase = async (): Promise<unknown> => (await show())["phase"];
  await expect.poll(phase, { timeout: 60_000 }).toMatch(/^(?:failed|awaiting_approval)$/);
  return { call, run, show, phase };
}

describe("terraform_remote_state in server runs", { timeout: 120_000 }, () => {
  it("keeps sensitive what the other configuration calls so", async () => {
    const url = await stateServer();
    const { call, run, phase } = await plannedRun(reader("http", `{ address = "${url}/state" }`));
    expect(await phase()).toBe("awaiting_approval");
    const plan = await call("GET", `${run}/plan`);
    expect(plan.text).toContain("shown-word");
    expect(plan.text).not.toContain("canary-word");
    await call("POST", `${run}/approvals`, { plan_digest: plan.json["digest"] });
    const events = await call("GET", `${run}/events`);
    expect(await phase()).toBe("applied");
    expect(events.text).not.toContain("canary-word");
  });

  it.each([
    ["a file of the worker", "local", () => '{ path = "/etc/hostname" }', "leads out of the"],
    [
      "a host that another one redirects to",
      "http",
      (url: string) => `{ address = "${url}/elsewhere" }`,
      "redirected to another host, localhost",
    ],
  ])("does not read %s", async (_what, backend, config, reason) => {
    const { show, phase } = await plannedRun(reader(backend, config(await stateServer())));
    expect(await phase()).toBe("failed");
    expect((await show())["reason"]).toContain(reason);
  });
});
