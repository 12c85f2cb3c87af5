import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { packArchive } from "@stackwright/provider-source";
import { signRequest } from "@stackwright/request-signing";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "main.ts");
const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const REQUEST_ID = "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1";
const REGION = "cn-north-7";

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "serve-live-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function bootstrapStore(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { stdout } = await run(
    process.execPath,
    [MAIN, "bootstrap", "--account", "acme", "--again", ...args],
    { env: { ...process.env, ...env } },
  );
  return JSON.parse(stdout) as BootstrapCredentials;
}

describe("the server as a process", () => {
  it("installs a published provider with the real command, and stops at a signal", async (context) => {
    const version = await run(TERRAFORM, ["version", "-json"]).catch(() => undefined);
    context.skip(
      version?.stdout.includes('"1.11.') !== true,
      `${TERRAFORM} 1.11 cannot be run on this machine`,
    );
    const directory = await scratch();
    const identity = createSelfSignedIdentity({ name: "localhost" });
    const [certificate, key] = [join(directory, "tls.pem"), join(directory, "tls.key")];
    await writeFile(certificate, String(identity.certificate));
    await writeFile(key, String(identity.privateKey));
    const store = ["--store", `sqlite:${join(directory, "store")}`];
    const first = await bootstrapStore(store);
    const server = await startServerProcess(MAIN, [
      ...store,
      "--host",
      "localhost",
      "--region",
      REGION,
      "--tls-certificate",
      certificate,
      "--tls-key",
      key,
    ]);
    const { port } = new URL(server.url);

    // Another process is told to trust the certificate, as fetch of this one cannot be.
    const script = `
      const [url, token, file] = process.argv.slice(1);
      const { readFileSync } = await import("node:fs");
      const send = async (path, body, type) => {
        const headers = { "x-auth-token": token, "content-type": type };
        const answer = await fetch(url + "/api/v1/registry" + path, { method: "PUT", headers, body });
        console.log(answer.status);
      };
      await send("/namespaces/acme", '{"public":true}', "application/json");
      await send("/providers/acme/thing/1.0.0/linux_amd64", readFileSync(file), "application/zip");
    `;
    const archive = join(directory, "thing.zip");
    const chunks: Uint8Array[] = [];
    const content = Buffer.from("#!/bin/sh\nexit 1\n");
    const entry = { path: "terraform-provider-thing", mode: 0o755, content };
    for await (const chunk of packArchive([entry])) chunks.push(chunk);
    await writeFile(archive, Buffer.concat(chunks));
    const published = await run(
      process.execPath,
      ["--input-type=module", "-e", script, `https://localhost:${port}`, first.token, archive],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: certificate } },
    );
    expect(published.stdout.trim().split("\n")).toEqual(["200", "201"]);

    const work = join(directory, "work");
    await mkdir(work);
    await writeFile(join(directory, "rc"), "");
    await writeFile(
      join(work, "main.tf"),
      `terraform {\n  required_providers {\n    t = { source = "localhost:${port}/acme/thing" }\n  }\n}\n`,
    );
    const { stdout } = await run(TERRAFORM, ["init", "-no-color"], {
      cwd: work,
      timeout: 90_000,
      env: {
        PATH: process.env["PATH"],
        HOME: directory,
        SSL_CERT_FILE: certificate,
        TF_CLI_CONFIG_FILE: join(directory, "rc"),
        CHECKPOINT_DISABLE: "1",
      },
    });
    expect(stdout).toContain("self-signed, key ID");
    expect(await readFile(join(work, ".terraform.lock.hcl"), "utf8")).toContain("zh:");

    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(0);
  });

  it("is one registry with others on PostgreSQL", async (context) => {
    const url = process.env["TEST_POSTGRES_URL"];
    context.skip(url === undefined, "TEST_POSTGRES_URL names no server");
    // What the store keeps is encrypted with it, and the store outlives this test.
    const env = { SERVER_KEY: "5a".repeat(32) };
    const args = ["--store", url ?? "", "--key-variable", "SERVER_KEY", "--region", REGION];
    const account = `a${randomBytes(8).toString("hex")}`;
    const { stdout } = await run(
      process.execPath,
      [MAIN, "bootstrap", "--again", ...args, "--account", account],
      { env: { ...process.env, ...env } },
    );
    const first = JSON.parse(stdout) as BootstrapCredentials;
    const servers = [
      await startServerProcess(MAIN, args, { env }),
      await startServerProcess(MAIN, args, { env }),
    ];

    const send = (server: ServerProcess, body: string, headers: [string, string][]) =>
      fetch(`${server.url}/v1/private-providers`, { method: "POST", headers, body });
    const plain: [string, string][] = [
      ["X-Auth-Token", first.token],
      ["Client-Request-Id", REQUEST_ID],
      ["Content-Type", "application/json"],
    ];
    for (let round = 0; round < 10; round += 1) {
      const body = JSON.stringify({ provider_name: `race-${round}` });
      const answers = await Promise.all(servers.map((server) => send(server, body, plain)));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
    }
    const [one, other] = servers;
    if (one === undefined || other === undefined) throw new Error("no servers");
    const list = await fetch(`${other.url}/v1/private-providers?limit=10`, { headers: plain });
    expect(await list.json()).toMatchObject({ page_info: { current_count: 10 } });

    // What was signed for one host and not for the other is the client's to choose; used once is used.
    const body = '{"provider_name":"signed"}';
    const signed = signRequest(
      {
        method: "POST",
        target: "/v1/private-providers",
        headers: [
          ["Client-Request-Id", REQUEST_ID],
          ["Content-Type", "application/json"],
        ],
        body: Buffer.from(body),
      },
      { accessKey: first.accessKey, secretKey: first.secretKey },
    ) as [string, string][];
    expect((await send(one, body, signed)).status).toBe(201);
    const replay = await send(other, body, signed);
    expect([replay.status, await replay.json()]).toMatchObject([
      401,
      { error_code: "RF.10012001" },
    ]);
    for (const server of servers) server.child.kill("SIGTERM");
    expect(await Promise.all(servers.map(({ ended }) => ended))).toEqual([0, 0]);
  });
});
