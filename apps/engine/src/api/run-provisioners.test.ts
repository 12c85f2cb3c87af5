import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { serve } from "../serve.ts";
import { tarOf } from "../testing/tar-of.ts";

const S = "/api/v1/projects/web/stacks/one";
const MAIN = `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo hidden=$SERVER_SECRET here=$HERE" }
}
`;

/** A run of a configuration with a provisioner, until its plan is there or has failed. */
async function plannedRun(provisionerProjects: string[]) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "run-provisioners-"));
  onTestFinished(() => scratch.remove());
  const bootstrapFile = join(scratch.path, "first.json");
  const server = await serve(
    { store: "memory:", port: 0, bootstrapFile, logLevel: "silent", provisionerProjects },
    { directory: scratch.path, env: { PATH: process.env["PATH"], SERVER_SECRET: "canary" } },
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
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": MAIN })));
  const { json } = await call("POST", `${S}/configurations`, archive);
  const created = await call("POST", `${S}/runs`, { configuration: json["digest"] });
  const run = `${S}/runs/${String(created.json["id"])}`;
  const phase = async (): Promise<unknown> => (await call("GET", run)).json["phase"];
  await expect.poll(phase, { timeout: 60_000 }).toMatch(/^(?:failed|awaiting_approval)$/);
  return { call, run, phase };
}

describe("provisioners of server runs", { timeout: 120_000 }, () => {
  it("are refused at plan, with the address", async () => {
    const { call, run, phase } = await plannedRun([]);
    expect(await phase()).toBe("failed");
    const { json } = await call("GET", run);
    expect(json["reason"]).toContain("terraform_data.a (local-exec)");
    expect(json["reason"]).toContain("not allowed to execute commands");
  });

  it("run in a project that is allowed to, without the variables of the server", async () => {
    const { call, run, phase } = await plannedRun(["default/web"]);
    expect(await phase()).toBe("awaiting_approval");
    const plan = await call("GET", `${run}/plan`);
    expect(plan.text).toContain('"provisioners":[{"when":"create","type":"local-exec"');
    await call("POST", `${run}/approvals`, { plan_digest: plan.json["digest"] });
    const { text } = await call("GET", `${run}/events`);
    expect(await phase()).toBe("applied");
    expect(text).toContain("hidden= here=");
    expect(text).not.toContain("canary");
    expect(text).toContain("event: provision-output");
  });
});
