import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";
import { tarOf } from "../../testing/tar-of.ts";

const NET = "/api/v1/registry/modules/acme/net/aws";
const SOURCE = "localterraform.com/acme/net/aws";
const POLL = { timeout: 60_000 };

const calls = (version: string, source = SOURCE): string => `
module "net" {
  source  = "${source}"
  version = "${version}"
}
resource "terraform_data" "word" { input = module.net.word }
output "word" { value = terraform_data.word.output }
`;

async function start() {
  const api = await startApi();
  const { call, upload } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const publish = async (version: string, word: string, token?: string) =>
    call("PUT", `${NET}/${version}`, {
      body: Uint8Array.from(gzipSync(tarOf({ "main.tf": `output "word" { value = "${word}" }` }))),
      token,
    });
  const request = async (files: Record<string, string>, more: object = {}) => {
    const { digest } = (await upload(files)).json;
    const { id } = (await call("POST", `${S}/runs`, { body: { configuration: digest, ...more } }))
      .json;
    return String(id);
  };
  const reaches = async (run: string, phase: RegExp) => {
    const read = async () => (await call("GET", `${S}/runs/${run}`)).json;
    await expect.poll(async () => (await read())["phase"], POLL).toMatch(phase);
    return read();
  };
  const applied = async (files: Record<string, string>) => {
    const run = await request(files, { auto_apply: true });
    const ended = await reaches(run, /applied|failed|no_changes/);
    const events = (await call("GET", `${S}/runs/${run}/events`)).text;
    return { phase: ended["phase"], reason_code: ended["reason_code"], events };
  };
  const word = async () => (await call("GET", `${S}/state`)).text;
  return { ...api, publish, request, reaches, applied, word };
}

it("a run fetches private modules of its account, and applies those that were planned", {
  timeout: 120_000,
}, async () => {
  const { call, publish, request, reaches, applied, word, tokenOf } = await start();
  await publish("1.0.0", "first");
  const run = await request({ "main.tf": calls("~> 1.0") });
  const { plan_digest } = await reaches(run, /awaiting_approval|failed/);
  // A newer version that appears meanwhile is not what was approved.
  await publish("1.1.0", "second");
  await call("POST", `${S}/runs/${run}/approvals`, { body: { plan_digest } });
  expect(await reaches(run, /applied|failed/)).toMatchObject({ phase: "applied" });
  expect(await word()).toContain("first");
  const next = await applied({ "main.tf": calls("~> 1.0") });
  expect(next).toMatchObject({ phase: "applied" });
  expect(next.events).toContain(`Fetched module.net from ${SOURCE} 1.1.0`);
  expect(await word()).toContain("second");
  // What is asked is what the state was made with, and not what a plan would make of it.
  await publish("2.0.0", "third");
  await reaches(await request({ "main.tf": calls("~> 2.0") }), /awaiting_approval|failed/);
  const uses = async (query: string, token?: string) =>
    (await call("GET", `/api/v1/where-used?kind=module&${query}`, { token })).json["uses"];
  const use = { project: "web", stack: "one", version: "1.1.0", constraints: "~> 1.0" };
  await expect.poll(async () => uses(`name=${SOURCE}`), POLL).toEqual([use]);
  expect(await uses("name=acme/net/aws")).toEqual([use]);
  expect(await uses("name=acme/net/aws&version=1.1.0")).toEqual([use]);
  expect(await uses("name=acme/net/aws&version=1.0.0")).toEqual([]);
  expect(await uses("name=cme/net/aws")).toEqual([]);
  expect(await uses("name=acme/net/aws", await tokenOf("reader", ["base"]))).toEqual([]);
});

it("a lock file keeps the version, and refuses other content", { timeout: 120_000 }, async () => {
  const { publish, applied, word } = await start();
  await publish("1.0.0", "first");
  await publish("1.1.0", "second");
  const lockOf = (hash: string): string =>
    `module "${SOURCE}" {\n  constraints = "~> 1.0"\n  version = "1.0.0"\n  hash = "${hash}"\n}\n`;
  const locked = async (hash: string) =>
    applied({ "main.tf": calls("~> 1.0"), ".stackwright.modules.lock.hcl": lockOf(hash) });
  const wrong = await locked("h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
  expect(wrong).toMatchObject({ phase: "failed", reason_code: "configuration" });
  const hash = /has the hash (h1:[\w+/=]+)/.exec(wrong.events)?.[1] ?? "";
  expect(hash).not.toBe("");
  expect(await locked(hash)).toMatchObject({ phase: "applied" });
  expect(await word()).toContain("first");
});

it("says why a module cannot be had", { timeout: 120_000 }, async () => {
  const { call, publish, applied, server } = await start();
  await publish("1.0.0", "first");
  await publish("2.0.0", "second");
  await call("DELETE", `${NET}/2.0.0?reason=typo`);
  const why = async (main: string) => {
    const { phase, events } = await applied({ "main.tf": main });
    expect(phase).toBe("failed");
    return events;
  };
  expect(await why(calls("2.0.0"))).toContain("No version of the module");
  expect(await why(calls("1.0.0", "registry.example.com/acme/net/aws"))).toContain("--module-host");
  for (const source of [
    "git::https://git.example.com/net.git",
    "https://files.example.com/net.tgz",
    "git::ssh://git@git.example.com/net.git",
    "s3::https://s3.amazonaws.com/bucket/net.zip",
  ]) {
    const text = await why(`module "net" {\n  source = "${source}"\n}`);
    expect(text).toMatch(/--module-host|by https alone/);
  }
  // Modules of another account are not there.
  const { token } = await server.credentials.createToken({ account: "other", roles: ["admin"] });
  const other = Uint8Array.from(
    gzipSync(tarOf({ "main.tf": 'output "word" { value = "theirs" }' })),
  );
  await call("PUT", "/api/v1/registry/modules/theirs/net/aws/1.0.0", { body: other, token });
  expect(await why(calls("1.0.0", "localterraform.com/theirs/net/aws"))).toContain(
    "does not have the module",
  );
});
