import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { answerLogin, LOGIN_ADDRESS } from "./testing/answer-login.ts";
import { startApi } from "./testing/start-api.ts";
import { startNotesFunction, URN } from "./testing/start-notes-function.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";
import { localhostCertificate, terraformRoot } from "./testing/terraform-roots.ts";

// Providers that users publish to a server, in runs of the same server: by a worker on another machine, and with no file that says where the
// registry is.

const MAIN = join(import.meta.dirname, "main.ts");
const COMMAND = join(import.meta.dirname, "../../cli/bin/stackwright.mjs");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const POLL = { timeout: 120_000, interval: 100 };

async function start(...words: readonly string[]) {
  const scratch = await mkdtemp(join(tmpdir(), "own-registry-"));
  // Processes that were killed leave children that write for another moment.
  onTestFinished(() => rm(scratch, { recursive: true, force: true, maxRetries: 20 }));
  const folderOf = async (name: string) => {
    const path = join(scratch, name);
    await mkdir(path);
    return path;
  };
  const home = await folderOf("home");
  const env = { HOME: home, TF_CLI_CONFIG_FILE: undefined };
  const first = join(scratch, "first.json");
  const store = ["--store", "sqlite:data", "--storage-port", "0"];
  const { url } = await startServerProcess(
    MAIN,
    [...store, "--executor", "none", "--bootstrap-file", first, ...words],
    { cwd: await folderOf("server"), env },
  );
  const { token } = JSON.parse(await readFile(first, "utf8")) as { readonly token: string };
  const work = await folderOf("worker");
  await startWorkerProcess(MAIN, ["--server", url], {
    cwd: work,
    env: { ...env, STACKWRIGHT_TOKEN: token },
  });

  /** Publishes the provider of a project, whose file is given. */
  const publish = async (project: object, ...more: readonly string[]): Promise<string> => {
    const cwd = await mkdtemp(join(scratch, "project-"));
    await writeFile(join(cwd, "stackwright.provider.json"), JSON.stringify(project));
    const version = more.includes("--version") ? [] : ["--version", "1.0.0"];
    const child = spawn(process.execPath, [COMMAND, "provider", "publish", ...version, ...more], {
      cwd,
      env: { ...process.env, ...env, STACKWRIGHT_SERVER: url, STACKWRIGHT_TOKEN: token },
    });
    child.stdin.end();
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        text += String(chunk);
      });
    }
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    expect(code, text).toBe(0);
    return text;
  };
  const api = async (method: string, path: string, body?: object) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          "content-type": isBytes ? "application/gzip" : "application/json",
        }),
      },
      ...(body !== undefined && { body: isBytes ? Uint8Array.from(body) : JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { text, json: (text.startsWith("{") ? JSON.parse(text) : {}) as Record<string, string> };
  };
  const call = async (method: string, path: string, body?: object) =>
    api(method, `/projects/web/stacks${path}`, body);
  await call("POST", "", { name: "one" });
  /** How a run of a configuration ends that is applied without a question. */
  const applied = async (files: Readonly<Record<string, string>>) => {
    const { digest } = (await call("POST", "/one/configurations", gzipSync(tarOf(files)))).json;
    const { id } = (await call("POST", "/one/runs", { configuration: digest, auto_apply: true }))
      .json;
    const read = async () => (await call("GET", `/one/runs/${id}`)).json;
    await expect.poll(async () => (await read())["phase"], POLL).toMatch(/applied|fail|no_changes/);
    const { phase } = await read();
    return { phase, events: (await call("GET", `/one/runs/${id}/events`)).text };
  };
  return { host: new URL(url).host, api, call, publish, applied, folderOf, home, work };
}

const requires = (name: string, source: string, version = "1.0.0"): string => `
terraform {
  required_providers {
    ${name} = {
      source  = "${source}"
      version = "${version}"
    }
  }
}
`;

it("a run of a remote worker uses a program that was published to its server", {
  timeout: 300_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const { host, publish, applied, folderOf, home } = await start();
  const objects = await folderOf("objects");
  const project = { source: "example.com/acme/lab", command: [LAB], program: LAB };
  expect(await publish(project, "--protocols", "6.0", "--claim")).toContain("Published acme/lab");
  const configuration = (source: string): string => `${requires("lab", source)}
provider "lab" { directory = ${JSON.stringify(objects)} }
resource "lab_object" "a" { name = "a" }
`;
  const done = await applied({ "main.tf": configuration(`${host}/acme/lab`) });
  expect(done.phase, done.events).toBe("applied");
  expect(await readdir(objects)).not.toEqual([]);
  const lockOf = (hash: string): string =>
    `provider "${host}/acme/lab" {\n  version = "1.0.0"\n  hashes = [\n    "${hash}",\n  ]\n}\n`;
  const other = await applied({
    "main.tf": configuration(`${host}/acme/lab`),
    ".terraform.lock.hcl": lockOf(`zh:${"0".repeat(64)}`),
  });
  expect([other.phase, other.events]).toEqual(["failed", expect.stringContaining("lock file")]);
  const absent = await applied({ "main.tf": configuration(`${host}/other/lab`) });
  expect(absent.events).toContain(`there is no provider ${host}/other/lab`);
  // Nothing but what the test put there led to the registry.
  expect(await readdir(home)).not.toContain(".terraformrc");
});

it("a stack that asks for plans has one as soon as a version that its objects were written with is deprecated", {
  timeout: 300_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const { host, api, call, publish, applied, folderOf } = await start();
  const objects = await folderOf("objects");
  const project = { source: "example.com/acme/lab", command: [LAB], program: LAB };
  await publish(project, "--protocols", "6.0", "--claim");
  const source = `${host}/acme/lab`;
  const done = await applied({
    "main.tf": `${requires("lab", source)}
provider "lab" { directory = ${JSON.stringify(objects)} }
resource "lab_object" "a" { name = "a" }
`,
  });
  expect(done.phase, done.events).toBe("applied");
  const noticed = async () => (await call("GET", "/one/provider-reaction")).text;
  expect((await call("PUT", "/one/provider-reaction", { reaction: "plan" })).text).toContain(
    '"notices":[]',
  );
  const deprecation = { deprecation: "use 2.0.0" };
  await api("PATCH", "/registry/providers/acme/lab/1.0.0", deprecation);
  // Sooner than it is looked at again.
  const soon = { ...POLL, timeout: 40_000 };
  await expect.poll(noticed, soon).toContain('"change":"deprecated"');
  const { notices } = JSON.parse(await noticed()) as { notices: { run: string }[] };
  const runOf = async () => (await call("GET", `/one/runs/${notices[0]?.run}`)).json;
  await expect.poll(async () => (await runOf())["phase"], POLL).toBe("no_changes");
  expect((await runOf())["cause"]).toBe(`provider:deprecated:${source}@1.0.0`);
});

it("a stack hears of the newest version that the modules allow which its run has fetched", {
  timeout: 300_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const { host, api, call, publish, applied, folderOf } = await start();
  const objects = await folderOf("objects");
  const project = { source: "example.com/acme/lab", command: [LAB], program: LAB };
  await publish(project, "--protocols", "6.0", "--claim");
  const source = `${host}/acme/lab`;
  const bounded = requires("lab", source, "< 2.0.0");
  const module = gzipSync(
    tarOf({ "main.tf": `${bounded}resource "lab_object" "b" { name = "b" }` }),
  );
  await api("PUT", "/registry/modules/acme/net/lab/1.0.0", module);
  const done = await applied({
    "main.tf": `${requires("lab", source, ">= 1.0.0")}
provider "lab" { directory = ${JSON.stringify(objects)} }
module "net" {
  source  = "localterraform.com/acme/net/lab"
  version = "1.0.0"
}
`,
  });
  expect(done.phase, done.events).toBe("applied");
  await call("PUT", "/one/provider-reaction", { reaction: "notify" });
  await publish(project, "--protocols", "6.0", "--version", "2.0.0");
  await publish(project, "--protocols", "6.0", "--version", "1.1.0");
  const noticed = async () => {
    const { notices } = JSON.parse((await call("GET", "/one/provider-reaction")).text) as {
      readonly notices: readonly { readonly version: string }[];
    };
    return notices.map(({ version }) => version);
  };
  await expect.poll(noticed, POLL).toEqual(["1.1.0"]);
});

it("and a function that was registered at it, under the name that it has there as well", {
  timeout: 300_000,
}, async () => {
  const { table } = await startNotesFunction();
  const { host, publish, applied } = await start("--functions", table);
  const project = { source: "example.com/acme/notes", command: ["node"] };
  expect(await publish(project, "--function", URN)).toContain("Published");
  const configuration = (source: string): string => `${requires("notes", source)}
resource "notes_note" "a" { text = "one" }
`;
  const done = await applied({ "main.tf": configuration(`${host}/private-provider/notes`) });
  expect(done.phase, done.events).toBe("applied");
  const moved = await applied({ "main.tf": configuration("huawei.com/private-provider/notes") });
  expect(moved.events).not.toContain("there is no provider");
});

it("a command uses a program that was published to the server at which its user logged in", {
  timeout: 300_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const { certificateFile, keyFile } = await localhostCertificate();
  const tls = { certificateFile, keyFile };
  const { server, first } = await startApi("none", { tls, host: "localhost" });
  const host = `localhost:${new URL(server.url).port}`;
  const root = await terraformRoot(process.execPath, { NODE_EXTRA_CA_CERTS: certificateFile });
  // Nothing says where the registry is, or what its token is.
  delete root.env["TF_CLI_CONFIG_FILE"];
  const project = { source: `${host}/acme/lab`, command: [LAB], program: LAB };
  await root.write(JSON.stringify(project), "stackwright.provider.json");
  const publish = ["provider", "publish", "--version", "1.0.0", "--protocols", "6.0", "--claim"];
  const publishing = root.start([COMMAND, ...publish], {
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: first.token,
  });
  const { code, text } = await publishing.ended;
  expect([code, text]).toEqual([0, expect.stringContaining(`"${host}/acme/lab"`)]);
  await root.write(`${requires("lab", `${host}/acme/lab`)}
provider "lab" { directory = "objects" }
resource "lab_object" "a" { name = "a" }
`);
  await mkdir(join(root.directory, "objects"));
  expect(await root.fails(COMMAND, "up", "--yes")).toContain("401");

  const login = root.start([COMMAND, "login", host]);
  await expect.poll(() => login.output.text, POLL).toMatch(LOGIN_ADDRESS);
  const [address = ""] = LOGIN_ADDRESS.exec(login.output.text) ?? [];
  await answerLogin(address, first.token, await readFile(certificateFile));
  expect((await login.ended).code).toBe(0);
  expect(await root.ok(COMMAND, "up", "--yes")).toContain("1 added");
  expect(await readdir(join(root.directory, "objects"))).not.toEqual([]);
  expect(await readFile(join(root.directory, ".terraform.lock.hcl"), "utf8")).toContain(
    `provider "${host}/acme/lab"`,
  );
});
