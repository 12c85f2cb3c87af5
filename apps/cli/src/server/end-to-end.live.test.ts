import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import type { BootstrapCredentials } from "@stackwright/engine";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { expect, it, onTestFinished } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";

/*
 * Section F of the acceptance plan: a server on a PostgreSQL of its own, a function platform and the real `terraform`
 * command, each a process; a private provider is published, used, brought to a new form, and taken away.
 *
 * The plan keeps the state in the server's HTTP backend. There is none yet, so it lies in a file here, and the serial and
 * the lock history of F4 are not looked at.
 */

const found = spawnSync("terraform", ["version", "-json"], { encoding: "utf8" });
const version = /"terraform_version":\s*"([^"]+)"/.exec(found.stdout ?? "")?.[1];
const REGION = "cn-north-7";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const KEY = { accessKey: "AKPLATFORM", secretKey: "secret-of-the-platform" };
const FUNCTION = TEST_PROGRAMS.notesFunction;
const urnOf = (name: string) => `urn:fss:${REGION}:${PROJECT}:function:default:${name}:latest`;

/** A PostgreSQL server that ends with the test. */
async function startPostgres(main: string): Promise<string> {
  const child = spawn(process.execPath, [main, "serve", "postgres"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, "exit");
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return (JSON.parse(line) as { readonly url: string }).url;
}

/** What stands between the bridge and the platform, and sees the methods that are called. */
async function startWitness(platform: string) {
  const calls: { readonly method: string; readonly data: Buffer }[] = [];
  const server = createServer((incoming, response) => {
    void (async () => {
      const body = await bytesOf(incoming);
      const event = JSON.parse(body.toString()) as { readonly body: string };
      const envelope = JSON.parse(Buffer.from(event.body, "base64").toString()) as {
        readonly method_name: string;
        readonly request_data: string;
      };
      calls.push({
        method: envelope.method_name.replace("/tfplugin5.Provider/", ""),
        data: Buffer.from(envelope.request_data, "base64"),
      });
      const { method, headers, url = "/" } = incoming;
      const outgoing = request(new URL(url, platform), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      outgoing.once("error", () => response.destroy());
      outgoing.end(body);
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Requests that the server answered with success, by a part of their route. */
function answered(metrics: string, method: string, route: string): number {
  const counts = metrics
    .split("\n")
    .filter((line) => line.startsWith("stackwright_http_request_seconds_count{"))
    .filter((line) => line.includes(`method="${method}"`) && line.includes(route))
    .filter((line) => line.includes('status="200"'))
    .map((line) => Number(line.split(" ").at(-1)));
  return counts.reduce((sum, count) => sum + count, 0);
}

const MINUTES = 60_000;

it("publishes, installs, deploys, upgrades and destroys, and leaves nothing behind", {
  timeout: 5 * MINUTES,
}, async (ctx) => {
  const servers = process.env.TEST_SERVERS_MAIN ?? "";
  ctx.skip(servers === "", "TEST_SERVERS_MAIN does not say how a PostgreSQL is started");
  ctx.skip(version?.startsWith("1.11.") !== true, "the command terraform 1.11 is not installed");
  const scratch = await mkdtempDisposable(join(tmpdir(), "end-to-end-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const file = (name: string) => join(cwd, name);
  const work = file("work");
  await mkdir(work);
  await mkdir(file("notes"));

  // F1: the server with everything it has, on loopback.
  const postgres = await startPostgres(servers);
  await writeFile(file("platform.json"), JSON.stringify(KEY));
  const functions = ([1, 2] as const).map((release) => ({
    urn: urnOf(`notes-v${release}`),
    command: [process.execPath, FUNCTION],
    env: { NOTES_FOLDER: file("notes"), NOTES_RELEASE: String(release) },
    concurrency: 16,
  }));
  const accounts = [{ ...KEY, projects: [PROJECT] }];
  await writeFile(file("functions.json"), JSON.stringify({ accounts, functions }));
  const platform = spawnCommand(["functions", "serve", "functions.json", "--port", "0"], { cwd });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const [, platformUrl = ""] = await platform.waitFor(/functions? (?:is|are) at (http:\S+)/);
  const witness = await startWitness(platformUrl);
  const table = {
    projects: [PROJECT],
    regions: { [REGION]: { endpoint: witness.url, credentials: { file: "platform.json" } } },
    networks: ["127.0.0.0/8"],
  };
  await writeFile(file("table.json"), JSON.stringify(table));
  const identity = createSelfSignedIdentity({ name: "localhost" });
  await writeFile(file("tls.pem"), String(identity.certificate));
  await writeFile(file("tls.key"), String(identity.privateKey));
  const options =
    `serve --host localhost --port 0 --region ${REGION} --functions table.json ` +
    "--tls-certificate tls.pem --tls-key tls.key --key-variable SERVER_KEY --bootstrap-file first.json";
  const server = spawnCommand(options.split(" "), {
    cwd,
    env: { STACKWRIGHT_STORE: postgres, SERVER_KEY: "5a".repeat(32) },
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [, url = ""] = await server.waitFor(/The server is at (\S+)/);
  const { port } = new URL(url);
  const first = JSON.parse(await readFile(file("first.json"), "utf8")) as BootstrapCredentials;

  /** As somebody with a certificate of this server's authority: another process, since ours has none. */
  const call = (path: string, body?: object): { status: number; text: string } => {
    const script = `
      const [url, token, body] = process.argv.slice(1);
      const headers = { "x-auth-token": token, "client-request-id": crypto.randomUUID() };
      if (body !== "") headers["content-type"] = "application/json";
      const answer = await fetch(url, { headers, ...(body !== "" && { method: "POST", body }) });
      console.log(JSON.stringify({ status: answer.status, text: await answer.text() }));
    `;
    const given = body === undefined ? "" : JSON.stringify(body);
    const target = `https://localhost:${port}${path}`;
    const args = ["--input-type=module", "-e", script, target, first.token, given];
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: file("tls.pem") };
    return JSON.parse(execFileSync(process.execPath, args, { env, encoding: "utf8" })) as {
      status: number;
      text: string;
    };
  };

  // F2: the first version.
  const publish = (release: 1 | 2) =>
    call(`/v1/private-providers${release === 1 ? "" : "/notes/versions"}`, {
      ...(release === 1 && { provider_name: "notes" }),
      provider_version: `${release}.0.0`,
      function_graph_urn: urnOf(`notes-v${release}`),
    });
  expect(publish(1).status).toBe(201);

  // F3: installed from the registry, planned into a file, applied, and at rest.
  await writeFile(file("rc"), `credentials "localhost:${port}" {\n  token = "${first.token}"\n}\n`);
  const configure = (folder: string, source: string, exact: string, more = "") =>
    writeFile(
      join(folder, "main.tf"),
      `terraform {
         required_providers {
           notes = {
             source  = "${source}"
             version = "${exact}"
           }
         }
       }
       resource "notes_note" "a" {
         count = 3
         name  = "note-\${count.index}"
         text  = "hello"
         ${more}
       }\n`,
    );
  const terraform = async (folder: string, words: string, rc = "rc") => {
    const child = spawn("terraform", [...words.split(" "), "-no-color"], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: cwd,
        SSL_CERT_FILE: file("tls.pem"),
        TF_CLI_CONFIG_FILE: file(rc),
        CHECKPOINT_DISABLE: "1",
        TF_IN_AUTOMATION: "1",
        TF_INPUT: "0",
        STACKWRIGHT_ACCESS_KEY: KEY.accessKey,
        STACKWRIGHT_SECRET_KEY: KEY.secretKey,
      },
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, output };
  };
  const ok = async (words: string) => {
    const { code, output } = await terraform(work, words);
    expect(code, output).toBe(0);
    return output;
  };
  const source = `localhost:${port}/private-provider/notes`;
  await configure(work, source, "1.0.0");
  expect(await ok("init")).toContain("self-signed, key ID");
  const installed = witness.calls.length;
  await ok("plan -out=plan");
  await ok("apply plan");
  await ok("plan -detailed-exitcode");
  expect(await readFile(file("notes/note-2"), "utf8")).toBe("hello");

  // F4: what the server counted, and what the function was asked.
  const metrics = () => call("/metrics").text;
  expect(answered(metrics(), "GET", "/download/")).toBe(1);
  const methods = witness.calls.map(({ method }) => method);
  expect(methods.filter((method) => method === "ApplyResourceChange")).toHaveLength(3);
  // The installation asked for the schema; after that it lies in the archive.
  expect(methods.slice(0, installed)).toEqual(["GetSchema"]);
  expect(methods.slice(installed)).not.toContain("GetSchema");

  // F5: another form of the objects.
  expect(publish(2).status).toBe(201);
  await configure(work, source, "2.0.0", 'mood = "fine"');
  expect(await ok("init -upgrade")).toContain(`Installing ${source} v2.0.0`);
  expect(answered(metrics(), "GET", "/download/")).toBe(2);
  const before = witness.calls.length;
  await ok("plan -out=plan");
  const upgrades = witness.calls
    .slice(before)
    .filter(({ method }) => method === "UpgradeResourceState");
  expect(upgrades).toHaveLength(3);
  // Version 0 is what protobuf leaves out; the stored attributes come as JSON and have no mood.
  for (const { data } of upgrades) {
    expect(data.toString()).toMatch(/"text":\s*"hello"/);
    expect(data.toString()).not.toContain("mood");
  }
  await ok("apply plan");
  await ok("plan -detailed-exitcode");
  const state = JSON.parse(await readFile(join(work, "terraform.tfstate"), "utf8")) as {
    readonly resources: readonly {
      readonly instances: readonly {
        readonly schema_version: number;
        readonly attributes: Readonly<Record<string, unknown>>;
      }[];
    }[];
  };
  const instances = state.resources[0]?.instances ?? [];
  expect(instances.map(({ schema_version }) => schema_version)).toEqual([1, 1, 1]);
  expect(instances.map(({ attributes }) => attributes["mood"])).toEqual(["fine", "fine", "fine"]);

  // The mirror has the same provider, under the address that templates of the platform use.
  const mirrored = file("mirrored");
  await mkdir(mirrored);
  await writeFile(
    file("mirror-rc"),
    `credentials "localhost:${port}" {\n  token = "${first.token}"\n}\n` +
      `provider_installation {\n  network_mirror {\n    url = "${url}/terraform/v1/mirror/"\n  }\n}\n`,
  );
  await configure(mirrored, "huawei.com/private-provider/notes", "2.0.0");
  const init = await terraform(mirrored, "init", "mirror-rc");
  expect(init.output).toContain("Installed huawei.com/private-provider/notes v2.0.0");
  const fresh = await terraform(mirrored, "plan -detailed-exitcode", "mirror-rc");
  expect(fresh.code, fresh.output).toBe(2);

  // F6: everything goes, and nothing runs any more.
  await ok("destroy -auto-approve");
  expect(JSON.parse(await readFile(join(work, "terraform.tfstate"), "utf8"))).toMatchObject({
    resources: [],
  });
  expect(await readdir(file("notes"))).toEqual([]);
  // That this sees something while there is something.
  if (process.platform === "linux") expect(await processesOf(cwd)).not.toEqual([]);
  expect(await server.stop("SIGTERM")).toBe(0);
  expect(await platform.stop("SIGTERM")).toBe(0);
  expect(await processesOf(cwd)).toEqual([]);
});

/** Processes whose arguments or variables name the folder. Linux alone says that of all of them. */
async function processesOf(folder: string): Promise<readonly string[]> {
  const pids = await readdir("/proc").catch(() => []);
  const names = pids
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]);
  const texts = await Promise.all(
    names.map(async (name) => readFile(name, "utf8").catch(() => "")),
  );
  return names.filter((_name, i) => texts[i]?.includes(folder));
}
