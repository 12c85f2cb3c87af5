import { expect, it } from "vitest";
import { S, startApi } from "../../testing/start-api.ts";

const CANARY = "cnry-87a1";
const MAIN = (word: string) => `
variable "secret" {
  sensitive = true
  default   = "${CANARY}"
}
resource "terraform_data" "a" { input = "${word}" }
resource "terraform_data" "b" {
  count = 2
  input = { of = terraform_data.a.output, secret = var.secret, text = "x" }
}
output "word" { value = terraform_data.a.output }
output "secret" {
  value     = var.secret
  sensitive = true
}
`;

async function applied() {
  const api = await startApi();
  await api.call("POST", "/api/v1/projects/web/stacks", { body: { name: "one" } });
  const apply = async (text: string): Promise<void> => {
    const { json } = await api.upload({ "main.tf": text });
    const body = { configuration: json["digest"], auto_apply: true };
    const { json: run } = await api.call("POST", `${S}/runs`, { body });
    await expect
      .poll(async () => (await api.call("GET", `${S}/runs/${String(run["id"])}`)).json["phase"], {
        timeout: 20_000,
      })
      .toBe("applied");
  };
  return { ...api, apply };
}

it("shows what is recorded of a stack, without secrets", async () => {
  const { call, apply, tokenOf } = await applied();
  await apply(MAIN("one"));
  const token = await tokenOf("reader");
  const state = await call("GET", `${S}/state`, { token });
  expect(state.json).toMatchObject({
    revision: 2,
    resources: [
      { address: "terraform_data.a", type: "terraform_data", phase: "ready", depends_on: [] },
      { address: "terraform_data.b[0]", depends_on: ["terraform_data.a"] },
      { address: "terraform_data.b[1]" },
    ],
    outputs: [
      { name: "secret", sensitive: true, value: { kind: "secret" } },
      { name: "word", sensitive: false, value: { kind: "string", text: "one" } },
    ],
  });
  const plain = await call("GET", `${S}/state/resource?address=terraform_data.a`, { token });
  expect(plain.text).toContain('{"name":"input","value":{"kind":"string","text":"one"}}');
  const query = `address=${encodeURIComponent("terraform_data.b[1]")}`;
  const one = await call("GET", `${S}/state/resource?${query}`, { token });
  expect(one.status).toBe(200);
  expect(one.text).toContain('{"name":"text","value":{"kind":"string","text":"x"}}');
  expect(one.text).toContain('{"name":"secret","value":{"kind":"secret"}}');
  expect(state.text + one.text).not.toContain(CANARY);
  const missing = await call("GET", `${S}/state/resource?address=terraform_data.c`, { token });
  expect([missing.status, missing.json["code"]]).toEqual([404, "not_found"]);
});

it("compares revisions: one run, several together, and from the empty state", async () => {
  const { call, apply } = await applied();
  await apply(MAIN("one"));
  await apply(MAIN("two"));
  await apply(MAIN("three").replace("count = 2", "count = 1"));
  const { json, text } = await call("GET", `${S}/revisions`);
  expect(json["revisions"]).toMatchObject([{ revision: 6 }, { revision: 4 }, { revision: 2 }]);
  expect(text).not.toContain(CANARY);
  const compare = async (from: number, to: number) => {
    const answer = await call("GET", `${S}/revisions/compare?from=${from}&to=${to}`);
    expect(answer.text).not.toContain(CANARY);
    const changes = (answer.json["changes"] ?? []) as { address: string; change: string }[];
    const of = changes.map(({ address, change }) => `${address} ${change}`);
    return { of, text: answer.text, answer };
  };
  const last = await compare(4, 6);
  expect(last.of).toEqual([
    "terraform_data.a updated",
    "terraform_data.b[0] updated",
    "terraform_data.b[1] deleted",
  ]);
  const all = await compare(2, 6);
  expect(all.of).toEqual(last.of);
  // What lies between is not in the difference.
  expect(all.text).toContain('"one"');
  expect(all.text).toContain('"three"');
  expect(all.text).not.toContain('"two"');
  expect((await compare(0, 2)).of).toEqual([
    "terraform_data.a created",
    "terraform_data.b[0] created",
    "terraform_data.b[1] created",
  ]);
  expect((await compare(0, 5)).answer.json["code"]).toBe("not_found");
  const unknown = (await compare(3, 6)).answer.json;
  expect([unknown["code"], unknown["detail"]]).toEqual([
    "not_found",
    "the stack has no revision 3",
  ]);
  expect((await compare(6, 2)).answer.json["code"]).toBe("invalid_request");
});

it("lists runs newest first, page by page, and says who asks", async () => {
  const { call, upload, tokenOf } = await startApi("none");
  await call("POST", "/api/v1/projects/web/stacks", { body: { name: "one" } });
  const { json } = await upload();
  const body = { configuration: json["digest"] };
  for (let count = 0; count < 5; count += 1) await call("POST", `${S}/runs`, { body });
  const numbers: number[] = [];
  let next: string | undefined = "";
  while (next !== undefined) {
    const after = next === "" ? "" : `&after=${next}`;
    const page = await call("GET", `${S}/runs?order=newest&limit=2${after}`);
    numbers.push(...((page.json["runs"] ?? []) as { number: number }[]).map((run) => run.number));
    next = page.json["next"] as string | undefined;
    if (next !== undefined) expect(page.headers.get("link")).toContain("&order=newest");
  }
  expect(numbers).toEqual([5, 4, 3, 2, 1]);
  const token = await tokenOf("reader", ["web"]);
  const caller = await call("GET", "/api/v1/caller", { token });
  expect(caller.json).toMatchObject({
    account: "default",
    roles: ["registry:reader"],
    projects: ["web"],
  });
});

it("names the value of another program's state that cannot be shown", async () => {
  const { call } = await startApi("none");
  const huge = "1e999999999";
  const provider = 'provider["registry.terraform.io/hashicorp/null"]';
  const instances = [{ schema_version: 0, attributes: { size: "HUGE" } }];
  const resource = { mode: "managed", type: "null_thing", name: "a", provider, instances };
  const lineage = "0d9f2b5e-6a1c-4c1e-9a63-7d1d6b0f1a11";
  const put = async (stack: string, members: object) => {
    const state = { version: 4, terraform_version: "1.9.0", serial: 1, lineage, ...members };
    const body = Buffer.from(JSON.stringify(state).replace('"HUGE"', huge));
    const headers = { "content-type": "application/json" };
    const stored = await call("POST", `/state/v1/default/web/${stack}`, { body, headers });
    expect(stored.status, stored.text).toBe(200);
    const at = `/api/v1/projects/web/stacks/${stack}`;
    const set = { body: { tool: "stackwright" }, headers: { "if-match": "*" } };
    expect((await call("PATCH", `${at}/tool`, set)).status).toBe(200);
    return at;
  };
  const one = await put("one", { outputs: {}, resources: [resource] });
  const outputs = { size: { value: "HUGE", type: "number" } };
  const two = await put("two", { outputs, resources: [] });
  for (const [path, of] of [
    [`${one}/state/resource?address=null_thing.a`, '"null_thing.a"'],
    [`${one}/revisions/compare?from=0&to=2`, '"null_thing.a"'],
    [`${two}/state`, 'the output "size"'],
  ] as const) {
    const refused = await call("GET", path);
    expect([path, refused.status], refused.text).toEqual([path, 422]);
    expect(refused.json["detail"]).toBe(
      `the state has a value of ${of} that cannot be shown: the exponent of the number is too large`,
    );
  }
});
