import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";
import { tarOf } from "../../testing/tar-of.ts";

const MODULES = "/api/v1/registry/modules";
const NET = `${MODULES}/acme/net/aws`;
const PROTOCOL = "/terraform/v1/modules/acme/net/aws";

const files = (input = "cidr") => ({
  "main.tf": `
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}
variable "${input}" {
  type        = string
  description = "the range"
}
variable "tags" {
  type    = map(string)
  default = { a = "b" }
}
output "id" {
  description = "its id"
  value       = terraform_data.net.id
}
resource "terraform_data" "net" { input = var.${input} }
`,
  "README.md": "# Net\n",
  "modules/sub/main.tf": 'output "x" { value = 1 }\n',
  "examples/small/main.tf": 'module "net" { source = "../.." }\n',
});
const packed = (content: Record<string, string>) => Uint8Array.from(gzipSync(tarOf(content)));

async function start() {
  const api = await startApi("none");
  const publish = async (version: string, content: Record<string, string>, token?: string) =>
    api.call("PUT", `${NET}/${version}`, { body: packed(content), token });
  return { ...api, publish };
}

it("a version is published with its documentation, once", async () => {
  const { call, publish, first } = await start();
  const made = await publish("1.0.0", files());
  expect([made.status, made.text]).toEqual([201, expect.stringContaining('"1.0.0"')]);
  expect((await publish("1.0.0", files())).status).toBe(200);
  expect(await publish("1.0.0", files("range"))).toMatchObject({
    status: 409,
    json: { code: "conflict" },
  });
  expect((await publish("1.10.0", files("range"))).status).toBe(201);
  expect((await publish("1.9.0-rc.1", files())).status).toBe(201);
  expect((await call("GET", NET)).json).toMatchObject({
    latest: "1.10.0",
    versions: [{ version: "1.10.0" }, { version: "1.9.0-rc.1" }, { version: "1.0.0" }],
  });
  expect((await call("GET", MODULES)).json).toMatchObject({
    modules: [{ namespace: "acme", name: "net", system: "aws" }],
  });
  const { modules } = (await call("GET", `${NET}/1.0.0`)).json as { modules: unknown[] };
  expect(modules).toMatchObject([
    {
      path: "",
      readme: "# Net\n",
      inputs: [
        { name: "cidr", type: "string", description: "the range", required: true },
        { name: "tags", type: "map(string)", required: false },
      ],
      outputs: [{ name: "id", description: "its id", sensitive: false }],
      providers: [
        { name: "aws", source: "registry.terraform.io/hashicorp/aws", version: "~> 5.0" },
      ],
      resources: ["terraform_data.net"],
    },
    { path: "modules/sub", outputs: [{ name: "x" }] },
    { path: "examples/small", calls: [{ name: "net", source: "../.." }] },
  ]);
  const today = new Date().toISOString().slice(0, 10);
  const trail = await call("GET", `/api/v1/registry/audit?day=${today}`, { token: first.token });
  expect(trail.text).toContain('"PublishModule"');
});

it.each([
  ["no configuration at the root", { "modules/a/main.tf": "" }, "no configuration files"],
  ["an error", { "main.tf": 'variable "a" {' }, "main.tf:1"],
  ["a path out of it", { "../main.tf": "" }, "archive"],
])("refuses a module with %s", async (_what, content, text) => {
  const { publish, call } = await start();
  const refused = await publish("1.0.0", content);
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining(text)]);
  expect((await call("GET", NET)).status).toBe(404);
});

it("a run of the server uses the modules that its bundle has, and fetches none", {
  timeout: 60_000,
}, async () => {
  const { call, upload } = await startApi();
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const source = "modules.example/acme/net/aws";
  const records = [
    { Key: "", Source: "", Dir: "." },
    { Key: "net", Source: source, Version: "1.0.0", Dir: ".terraform/modules/net" },
  ];
  const content = {
    "main.tf": `module "net" {\n  source = "${source}"\n  version = "~> 1.0"\n}\noutput "x" { value = module.net.x }\n`,
    ".terraform/modules/modules.json": JSON.stringify({ Modules: records }),
    ".terraform/modules/net/main.tf": 'output "x" { value = "bundled" }\n',
  };
  const ended = async (files: Record<string, string>) => {
    const { digest } = (await upload(files)).json;
    const body = { configuration: digest, auto_apply: true };
    const { id } = (await call("POST", `${S}/runs`, { body })).json;
    const run = async () => (await call("GET", `${S}/runs/${String(id)}`)).json;
    const isOver = async () => /applied|failed/.test(String((await run())["phase"]));
    await expect.poll(isOver, { timeout: 30_000 }).toBe(true);
    return run();
  };
  expect(await ended(content)).toMatchObject({ phase: "applied" });
  expect((await call("GET", `${S}/state`)).text).toContain("bundled");
  expect(await ended({ "main.tf": content["main.tf"] })).toMatchObject({
    phase: "failed",
    reason_code: "configuration",
  });
});

it("refuses names and versions that commands would not take", async () => {
  const { call } = await start();
  for (const path of [
    "acme/net/AWS/1.0.0",
    "acme/net/aws/1.0",
    "acme/net/aws/1.0.0+x",
    "-a/b/c/1.0.0",
  ])
    expect(await call("PUT", `${MODULES}/${path}`, { body: packed(files()) })).toMatchObject({
      status: 404,
      json: { detail: expect.stringMatching(/name|namespace|system|version/) as string },
    });
});

it("commands list and download versions with a token of the account alone", async () => {
  const { call, publish, server, tokenOf } = await start();
  await publish("1.0.0", files());
  await publish("1.1.0", files("range"));
  expect((await call("GET", `${PROTOCOL}/versions`, { token: "" })).status).toBe(401);
  const other = await server.credentials.createToken({ account: "other", roles: ["admin"] });
  expect((await call("GET", `${PROTOCOL}/versions`, { token: other.token })).status).toBe(404);
  const token = await tokenOf("reader");
  const services = (await call("GET", "/.well-known/terraform.json", { token: "" })).json;
  expect(services["modules.v1"]).toBe("/terraform/v1/modules/");
  expect((await call("GET", `${PROTOCOL}/versions`, { token })).json).toEqual({
    modules: [{ versions: [{ version: "1.1.0" }, { version: "1.0.0" }] }],
  });
  const found = await call("GET", `${PROTOCOL}/1.0.0/download`, { token });
  const address = found.headers.get("x-terraform-get") ?? "";
  expect([found.status, address]).toEqual([204, expect.stringContaining("checksum=sha256:")]);
  const archive = await fetch(server.url + address);
  expect(new Uint8Array(await archive.arrayBuffer())).toEqual(packed(files()));
  const changed = address.replace(/(archives\/.{20})./, (_, kept: string) => `${kept}_`);
  expect((await fetch(server.url + changed)).status).toBe(403);
  const headers = { "user-agent": "OpenTofu/1.10.0" };
  const tofu = await call("GET", `${PROTOCOL}/1.0.0/download`, { token, headers });
  expect([tofu.status, tofu.json]).toMatchObject([200, { location: expect.any(String) as string }]);
});

it("an address of an archive ends with the token that it was made for, and with its role", async () => {
  const { call, server, publish } = await start();
  await publish("1.0.0", files());
  await call("POST", "/api/v1/users", { body: { name: "lea" } });
  await call("PUT", "/api/v1/roles/user/lea", { body: { role: "viewer" } });
  const { token, tokenId } = await server.credentials.createToken({
    account: "default",
    user: "lea",
    roles: ["reader"],
  });
  const found = await call("GET", `${PROTOCOL}/1.0.0/download`, { token });
  const address = server.url + (found.headers.get("x-terraform-get") ?? "");
  const read = async (): Promise<number> => (await fetch(address)).status;
  expect(await read()).toBe(200);
  await call("PATCH", "/api/v1/users/lea", { body: { disabled: true } });
  expect(await read()).toBe(403);
  await call("PATCH", "/api/v1/users/lea", { body: { disabled: false } });
  expect(await read()).toBe(200);
  await call("DELETE", "/api/v1/roles/user/lea");
  expect(await read()).toBe(403);
  await call("PUT", "/api/v1/roles/user/lea", { body: { role: "viewer" } });
  await server.credentials.revoke(tokenId);
  expect(await read()).toBe(403);
});

it("a withdrawn version is offered no longer, and only its own files come back", async () => {
  const { call, publish, tokenOf } = await start();
  await publish("1.0.0", files());
  const token = await tokenOf("deployer");
  expect((await call("DELETE", `${NET}/1.0.0`, { token })).status).toBe(403);
  const gone = await call("DELETE", `${NET}/1.0.0?reason=leaks`);
  expect(gone.json).toMatchObject({ version: "1.0.0", withdrawn_reason: "leaks" });
  expect((await call("GET", `${PROTOCOL}/versions`)).json).toEqual({ modules: [{ versions: [] }] });
  const refused = await call("GET", `${PROTOCOL}/1.0.0/download`);
  expect([refused.status, refused.text]).toEqual([410, expect.stringContaining("leaks")]);
  expect((await call("GET", `${NET}/1.0.0`)).json["modules"]).toEqual([]);
  expect((await publish("1.0.0", files("range"))).status).toBe(409);
  expect((await publish("1.0.0", files())).status).toBe(201);
  expect((await call("GET", `${PROTOCOL}/1.0.0/download`)).status).toBe(204);
});
