import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { tarOf } from "../testing/tar-of.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const OWN = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");

const greeting = (word: string): string =>
  `variable "who" { type = string }\noutput "greeting" { value = "${word} \${var.who}" }\n`;

beforeEach((context) => {
  const { status } = spawnSync(TERRAFORM, ["version"]);
  context.skip(status !== 0, `${TERRAFORM} cannot be run on this machine`);
});

it("a module is published, installed by both commands, upgraded and withdrawn", {
  timeout: 120_000,
}, async () => {
  const { certificateFile, keyFile } = await localhostCertificate();
  const api = await startApi("none", { tls: { certificateFile, keyFile }, host: "localhost" });
  // Hosts of module sources have a dot, which that of a test on one machine has not.
  const host = "modules.example.test";
  const { port } = new URL(api.server.url);
  const service = `https://localhost:${port}/terraform/v1/modules/`;
  const token = await api.tokenOf("reader");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "modules-"));
  const rootOf = async (command: string) =>
    terraformRoot(command, {
      SSL_CERT_FILE: certificateFile,
      NODE_EXTRA_CA_CERTS: certificateFile,
      STACKWRIGHT_MODULE_CACHE: join(scratch.path, "cache"),
      STACKWRIGHT_SERVER: api.server.url,
      STACKWRIGHT_TOKEN: api.first.token,
    });
  const author = await rootOf(process.execPath);
  await mkdir(join(author.directory, "hello/modules/sub"), { recursive: true });
  await author.write(greeting("sub"), "hello/modules/sub/main.tf");
  const modules = async (...words: string[]) => author.ok(OWN, "modules", ...words);
  const publish = async (version: string, word: string) => {
    await author.write(greeting(word), "hello/main.tf");
    return modules("publish", "acme/hello/any", version, "hello");
  };
  expect(await publish("1.0.0", "hello")).toContain("Published acme/hello/any 1.0.0");
  expect(await publish("1.0.0", "hello")).toContain("published before");
  await author.write(greeting("other"), "hello/main.tf");
  const changed = ["modules", "publish", "acme/hello/any", "1.0.0", "hello"];
  expect(await author.fails(OWN, ...changed)).toContain("a version never changes");

  const config = `
module "a" {
  source  = "${host}/acme/hello/any"
  version = "~> 1.0"
  who     = "ann"
}
module "b" {
  source  = "${host}/acme/hello/any//modules/sub"
  version = "1.0.0"
  who     = "bob"
}
output "all" { value = "\${module.a.greeting}, \${module.b.greeting}" }
`;
  const place = `host "${host}" {\n  services = { "modules.v1" = "${service}" }\n}\n`;
  const trust = `${place}credentials "${host}" {\n  token = "${token}"\n}\n`;
  const roots = [
    { root: await rootOf(TERRAFORM), prefix: [], apply: ["apply", "-auto-approve"] },
    { root: await rootOf(process.execPath), prefix: [OWN], apply: ["up", "--yes"] },
  ];
  for (const { root, prefix, apply } of roots) {
    await root.write(config);
    await writeFile(root.env["TF_CLI_CONFIG_FILE"] ?? "", place);
    expect((await root.fails(...prefix, "init")).toLowerCase()).toMatch(
      /401|unauthorized|credential/,
    );
    await writeFile(root.env["TF_CLI_CONFIG_FILE"] ?? "", trust);
    await root.ok(...prefix, "init");
    expect(await root.ok(...prefix, ...apply)).toContain("hello ann, sub bob");
  }
  await publish("1.1.0", "welcome");
  for (const { root, prefix, apply } of roots) {
    await root.ok(...prefix, "init", "-upgrade");
    expect(await root.ok(...prefix, ...apply)).toContain("welcome ann, sub bob");
  }
  expect(await modules("list")).toBe("acme/hello/any: 1.1.0, 2 versions\n");
  expect(await modules("show", "acme/hello/any")).toContain("input who (string, required)");
  await modules("withdraw", "acme/hello/any", "1.1.0", "--reason", "typo");
  expect(await modules("show", "acme/hello/any")).toContain("1.1.0 (withdrawn: typo)");
  for (const { root, prefix, apply } of roots) {
    await root.ok(...prefix, "init", "-upgrade");
    expect(await root.ok(...prefix, ...apply)).toContain("hello ann, sub bob");
    await root.write(config.replace('"~> 1.0"', '"1.1.0"'));
    expect(await root.fails(...prefix, "init", "-upgrade")).toContain("1.0.0");
  }
});

it("a module of localterraform.com is that of the host of the cloud block, in both execution modes", {
  timeout: 120_000,
}, async () => {
  const { certificateFile, keyFile } = await localhostCertificate();
  const tls = { certificateFile, keyFile };
  const api = await startApi("in-process", { tls, host: "localhost" });
  const { host } = new URL(api.server.url);
  const author = await terraformRoot(process.execPath, {
    NODE_EXTRA_CA_CERTS: certificateFile,
    STACKWRIGHT_SERVER: api.server.url,
    STACKWRIGHT_TOKEN: api.first.token,
  });
  await mkdir(join(author.directory, "hello"));
  await author.write(greeting("hello"), "hello/main.tf");
  await author.ok(OWN, "modules", "publish", "acme/hello/any", "1.0.0", "hello");
  const root = await terraformRoot(TERRAFORM, { SSL_CERT_FILE: certificateFile });
  await writeFile(
    root.env["TF_CLI_CONFIG_FILE"] ?? "",
    `credentials "${host}" {\n  token = "${api.first.token}"\n}\n`,
  );
  await root.write(`
terraform {
  cloud {
    hostname     = "${host}"
    organization = "default"
    workspaces { name = "demo" }
  }
}
module "a" {
  source  = "localterraform.com/acme/hello/any"
  version = "~> 1.0"
  who     = "ann"
}
output "all" { value = module.a.greeting }
`);
  const ca = await readFile(certificateFile);
  for (const mode of ["local", "remote"]) {
    await root.ok("init");
    const headers = { authorization: `Bearer ${api.first.token}` };
    const path = "/api/v2/organizations/default/workspaces/demo";
    const status = await new Promise((resolve, reject) => {
      const sent = request(`https://${host}${path}`, { method: "PATCH", ca, headers }, (answer) =>
        resolve(answer.resume().statusCode),
      );
      sent.once("error", reject);
      sent.end(JSON.stringify({ data: { attributes: { "execution-mode": mode } } }));
    });
    expect(status).toBe(200);
    expect(await root.ok("plan")).toContain("hello ann");
  }
});

it("an archive is installed neither with another checksum than its own, nor by an address that has expired", {
  timeout: 120_000,
}, async () => {
  const api = await startApi("none");
  onTestFinished(() => void vi.useRealTimers());
  const archive = gzipSync(tarOf({ "main.tf": greeting("hello") }));
  const path = "/api/v1/registry/modules/acme/hello/any/1.0.0";
  const { status, text } = await api.call("PUT", path, { body: Uint8Array.from(archive) });
  expect(status, text).toBe(201);
  /** What is done with the address that the server gave, before the command has it. */
  let way: "altered" | "late" | "given" = "given";
  /** Of requests for archives. */
  let statuses = new Set<number>();
  const pass = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization = "" } = incoming.headers;
    const headers = authorization === "" ? {} : { authorization };
    const answer = await fetch(api.server.url + (incoming.url ?? ""), { headers });
    const location = answer.headers.get("x-terraform-get");
    if (location === null) {
      if (incoming.url?.startsWith("/terraform/v1/module-archives/")) statuses.add(answer.status);
      const type = answer.headers.get("content-type") ?? "";
      response.writeHead(answer.status, { "content-type": type });
      response.end(Buffer.from(await answer.arrayBuffer()));
      return;
    }
    // The clock stands still: one millisecond more than the address is good for.
    if (way === "late") vi.setSystemTime(Date.now() + 15 * 60_000 + 1);
    const altered = location.replace(/sha256:[0-9a-f]{64}/, `sha256:${"0".repeat(64)}`);
    expect(altered).not.toBe(location);
    const found = way === "altered" ? altered : location;
    response.writeHead(204, { "x-terraform-get": found }).end();
  };
  const between = createServer((incoming, response) => {
    pass(incoming, response).catch(() => response.destroy());
  });
  between.listen(0, "127.0.0.1");
  await once(between, "listening");
  onTestFinished(() => {
    between.closeAllConnections();
    between.close();
  });
  const { port } = between.address() as AddressInfo;
  const host = "modules.example.test";
  const install = async () => {
    const root = await terraformRoot(TERRAFORM, {});
    await writeFile(
      root.env["TF_CLI_CONFIG_FILE"] ?? "",
      `host "${host}" {\n  services = { "modules.v1" = "http://127.0.0.1:${port}/terraform/v1/modules/" }\n}\ncredentials "${host}" {\n  token = "${api.first.token}"\n}\n`,
    );
    await root.write(
      `module "a" {\n  source  = "${host}/acme/hello/any"\n  version = "~> 1.0"\n  who     = "ann"\n}\n`,
    );
    return root;
  };
  way = "altered";
  expect(await (await install()).fails("init")).toMatch(/checksum/i);
  expect([...statuses]).toEqual([200]);
  statuses = new Set();
  way = "late";
  vi.useFakeTimers({ toFake: ["Date"] });
  expect(await (await install()).fails("init")).toContain("403");
  expect([...statuses]).toEqual([403]);
  way = "given";
  expect(await (await install()).ok("init")).toContain("Terraform has been successfully");
});
