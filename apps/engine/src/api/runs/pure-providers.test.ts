import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";
import { startNotesFunction, URN } from "../../testing/start-notes-function.ts";

const notes = (last: string): string => `
terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "many" {
  count = 4
  text  = "n\${count.index}"
}
resource "notes_note" "last" { text = "${last}" }
`;

it("a provider that the project says is pure is asked about one unchanged object of a type", {
  timeout: 240_000,
}, async () => {
  const asked: unknown[] = [];
  const { table } = await startNotesFunction({ onPlan: (text) => asked.push(text) });
  const { call, upload, first, tokenOf } = await startApi("in-process", { functionsFile: table });
  const registered = await call("POST", "/v1/private-providers", {
    token: "",
    headers: { "x-auth-token": first.token, "client-request-id": crypto.randomUUID() },
    body: { provider_name: "notes", provider_version: "1.0.0", function_graph_urn: URN },
  });
  expect(registered.status, registered.text).toBeLessThan(300);
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const planned = async (last: string, phase: string, request = {}) => {
    asked.length = 0;
    const { digest } = (await upload({ "main.tf": notes(last) })).json;
    const body = { configuration: digest, ...request };
    const at = `${S}/runs/${String((await call("POST", `${S}/runs`, { body })).json["id"])}`;
    await expect
      .poll(async () => (await call("GET", at)).json["phase"], { timeout: 60_000 })
      .toBe(phase);
    return { asked: [...asked], plan: (await call("GET", `${at}/plan`)).json };
  };
  await planned("x", "applied", { auto_apply: true });
  const full = await planned("x", "no_changes");
  expect(full.asked).toHaveLength(5);
  expect(new Set(full.asked)).toEqual(new Set(["n0", "n1", "n2", "n3", "x"]));

  const settings = async (sources: readonly string[], token?: string) =>
    call("PATCH", P, {
      token,
      headers: { "if-match": "*" },
      body: { pure_providers: sources },
    });
  const operator = await tokenOf("deployer", ["web"]);
  expect((await settings(["private-provider/notes"], operator)).status).toBe(403);
  expect((await settings(["no source"])).status).toBe(400);
  const made = await call("POST", "/api/v1/projects", {
    body: { name: "web", pure_providers: ["private-provider/notes"] },
  });
  expect(made.status, made.text).toBe(201);
  expect(made.json["pure_providers"]).toEqual(["private-provider/notes"]);
  expect((await planned("x", "no_changes")).asked).toHaveLength(1);
  const changed = await planned("y", "awaiting_approval");
  expect(changed.asked).toHaveLength(2);
  expect(changed.asked).toContain("y");
  expect(changed.plan["summary"]).toMatchObject({ update: 1, create: 0, delete: 0 });
  expect((await settings([])).json["pure_providers"]).toEqual([]);
});
