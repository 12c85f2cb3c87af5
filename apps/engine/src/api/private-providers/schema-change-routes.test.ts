import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";
import { LATER_URN, startNotesFunction, URN } from "../../testing/start-notes-function.ts";

const CONFIGURATION = `
terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "a" { text = "x" }
`;
const CHANGES = "/api/v1/private-providers/notes/schema-changes";

it("two versions are compared by what their functions say, with the stacks that have what changed", {
  timeout: 60_000,
}, async () => {
  const { table } = await startNotesFunction();
  const { call, upload, tokenOf, first } = await startApi("in-process", { functionsFile: table });
  const registry = async (path: string, body: object): Promise<void> => {
    const headers = { "x-auth-token": first.token, "client-request-id": crypto.randomUUID() };
    const answer = await call("POST", `/v1/private-providers${path}`, { token: "", headers, body });
    expect(answer.status, answer.text).toBeLessThan(300);
  };
  await registry("", {
    provider_name: "notes",
    provider_version: "1.0.0",
    function_graph_urn: URN,
  });
  await registry("/notes/versions", { provider_version: "1.1.0", function_graph_urn: LATER_URN });
  await registry("/notes/versions", {
    provider_version: "1.2.0",
    function_graph_urn: URN.replace("latest", "nowhere"),
  });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": CONFIGURATION })).json;
  const body = { configuration: digest, auto_apply: true };
  const run = `${S}/runs/${String((await call("POST", `${S}/runs`, { body })).json["id"])}`;
  await expect
    .poll(async () => (await call("GET", run)).json["phase"], { timeout: 30_000 })
    .toBe("applied");

  const compared = await call("GET", `${CHANGES}?from=1.0.0&to=1.1.0`);
  expect(compared.status, compared.text).toBe(200);
  const of = { of: "resource", name: "notes_note" };
  expect(compared.json["changes"]).toMatchObject([
    { ...of, path: "tags", change: "added", after: "list(string), optional", breaks: false },
    { ...of, path: "title", change: "added", after: "string, required", breaks: true },
    { of: "resource", name: "notes_share", path: "", change: "added", breaks: false },
  ]);
  const note = { name: "notes_note", data: false, objects: 1, breaks: true };
  const uses = [{ project: "web", stack: "one", types: [note] }];
  await expect
    .poll(async () => (await call("GET", `${CHANGES}?from=1.0.0&to=1.1.0`)).json)
    .toMatchObject({ source: "huawei.com/private-provider/notes", total: 3, breaking: 1, uses });
  const same = await call("GET", `${CHANGES}?from=1.0.0&to=1.0.0`);
  expect(same.json).toMatchObject({ changes: [], total: 0, breaking: 0, uses: [] });
  // A caller who may not see the stack learns nothing of it.
  const elsewhere = await tokenOf("reader", ["other"]);
  const seen = await call("GET", `${CHANGES}?from=1.0.0&to=1.1.0`, { token: elsewhere });
  expect(seen.json).toMatchObject({ total: 3, uses: [] });
  const silent = await call("GET", `${CHANGES}?from=1.0.0&to=1.2.0`);
  expect([silent.status, silent.json["code"]]).toEqual([502, "upstream_failed"]);
  expect((await call("GET", `${CHANGES}?from=1.0.0&to=9.0.0`)).status).toBe(404);
  expect((await call("GET", CHANGES)).json["code"]).toBe("invalid_request");
});

it("a server without a table of functions says so", async () => {
  const { call } = await startApi("none");
  const answer = await call("GET", `${CHANGES}?from=1.0.0&to=1.1.0`);
  expect([answer.status, answer.json["code"]]).toEqual([422, "unprocessable"]);
  expect(answer.json["detail"]).toContain("--functions");
});
