import { existsSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";

it("an apply that is canceled after it has changed an object is applied in part", {
  timeout: 90_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "canceled-apply-"));
  onTestFinished(() => scratch.remove());
  const [begun, gate] = [join(scratch.path, "begun"), join(scratch.path, "gate")];
  const { call, upload } = await startApi("in-process", { provisionerProjects: ["default/web"] });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const wait = `touch ${begun}; until [ -e ${gate} ]; do sleep 0.05; done`;
  const main = `
    resource "terraform_data" "first" {}
    resource "terraform_data" "second" {
      depends_on = [terraform_data.first]
      provisioner "local-exec" { command = ${JSON.stringify(wait)} }
    }
    resource "terraform_data" "third" { depends_on = [terraform_data.second] }
  `;
  const { digest } = (await upload({ "main.tf": main })).json;
  const body = { configuration: digest, auto_apply: true };
  const run = `${S}/runs/${String((await call("POST", `${S}/runs`, { body })).json["id"])}`;
  const shown = async (): Promise<Record<string, unknown>> => (await call("GET", run)).json;
  await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true);
  expect((await call("POST", `${run}/cancel`, { body: {} })).status).toBeLessThan(300);
  await writeFile(gate, "");
  await expect.poll(async () => (await shown())["phase"], { timeout: 60_000 }).not.toBe("applying");
  expect(await shown()).toMatchObject({
    phase: "partially_applied",
    reason: expect.stringMatching(/^canceled by token-/),
  });
  expect((await call("GET", `${S}/state`)).text).toContain("terraform_data.first");
});
