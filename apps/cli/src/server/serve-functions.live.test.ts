import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import type { BootstrapCredentials } from "@stackwright/engine";
import { signRequest } from "@stackwright/request-signing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runSpawned, type SpawnedCommand, spawnCommand } from "../testing/spawned-command.ts";

/*
 * Everything as processes of its own: the stand-in of a function platform, the server, and the unmodified command of
 * Terraform, which installs and uses a provider that lives in a function.
 */

const found = spawnSync("terraform", ["version", "-json"], { encoding: "utf8" });
const version = /"terraform_version":\s*"([^"]+)"/.exec(found.stdout ?? "")?.[1];
const absent =
  found.status !== 0
    ? "the command terraform is not installed"
    : version?.startsWith("1.11.") === true
      ? undefined
      : `terraform ${version} is not the recorded 1.11`;

const REGION = "cn-north-7";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const KEY = { accessKey: "AKPLATFORM", secretKey: "secret-of-the-platform" };
const FUNCTION = TEST_PROGRAMS.notesFunction;
const urnOf = (name: string) => `urn:fss:${REGION}:${PROJECT}:function:default:${name}:latest`;

let cleanup = new AsyncDisposableStack();
beforeEach((ctx) => {
  ctx.skip(absent !== undefined, absent ?? "");
});
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

async function setUp() {
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "serve functions ")));
  const cwd = scratch.path;
  const notes = join(cwd, "notes");
  const work = join(cwd, "work");
  await mkdir(notes);
  await mkdir(work);
  const write = (name: string, content: object) =>
    writeFile(join(cwd, name), JSON.stringify(content));
  await write("platform.json", KEY);
  await write("functions.json", {
    accounts: [{ ...KEY, projects: [PROJECT] }],
    functions: ([1, 2] as const).map((release) => ({
      urn: urnOf(`notes-v${release}`),
      command: [process.execPath, FUNCTION],
      env: { NOTES_FOLDER: notes, NOTES_RELEASE: String(release) },
    })),
  });
  const startPlatform = async (port: string): Promise<SpawnedCommand & { url: string }> => {
    const words = ["functions", "serve", "functions.json", "--port", port];
    const command = cleanup.use(spawnCommand(words, { cwd }));
    const [, url = ""] = await command.waitFor(/functions? (?:is|are) at (http:\S+)/);
    return { ...command, url };
  };
  const platform = await startPlatform("0");
  await write("table.json", {
    projects: [PROJECT],
    regions: { [REGION]: { endpoint: platform.url, credentials: { file: "platform.json" } } },
    networks: ["127.0.0.0/8"],
  });
  const server = cleanup.use(
    spawnCommand(
      `serve --store sqlite:store --port 0 --region ${REGION} --functions table.json --bootstrap-file first.json`.split(
        " ",
      ),
      { cwd },
    ),
  );
  const [, url = ""] = await server.waitFor(/The server is at (\S+)/);
  const first = JSON.parse(await readFile(join(cwd, "first.json"), "utf8")) as BootstrapCredentials;

  /** As the official clients do: signed with the access key. */
  const rfs = async (method: string, target: string, body?: object) => {
    const text = body === undefined ? "" : JSON.stringify(body);
    const headers = signRequest(
      {
        method,
        target,
        headers: [
          ["host", new URL(url).host],
          ["client-request-id", randomUUID()],
          ...(body === undefined ? [] : [["content-type", "application/json"] as const]),
        ],
        body: Buffer.from(text),
      },
      first,
    ) as [string, string][];
    return fetch(url + target, { method, headers, ...(body === undefined ? {} : { body: text }) });
  };
  const check = async (release: string) => {
    const path = `/api/v1/registry/private-providers/notes/versions/${release}/checks`;
    const headers = { "x-auth-token": first.token };
    const answer = await fetch(url + path, { method: "POST", headers });
    return ((await answer.json()) as { health: { healthy: boolean; problem: string } }).health;
  };

  const env = {
    PATH: process.env.PATH ?? "",
    HOME: cwd,
    TF_CLI_CONFIG_FILE: join(cwd, "rc"),
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
    STACKWRIGHT_ACCESS_KEY: KEY.accessKey,
    STACKWRIGHT_SECRET_KEY: KEY.secretKey,
  };
  // The host of private providers is this server.
  await writeFile(
    env.TF_CLI_CONFIG_FILE,
    `host "huawei.com" {
       services = { "providers.v1" = "${url}/terraform/v1/providers/" }
     }
     credentials "huawei.com" {
       token = "${first.token}"
     }\n`,
  );
  const configure = (exact: string, more = "") =>
    writeFile(
      join(work, "main.tf"),
      `terraform {
         required_providers {
           notes = {
             source  = "huawei.com/private-provider/notes"
             version = "${exact}"
           }
         }
       }
       resource "notes_note" "a" {
         name = "one"
         text = "hello"
         ${more}
       }\n`,
    );
  const run = async (...args: string[]) => {
    const child = spawn("terraform", [...args, "-no-color"], { cwd: work, env });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    return { code, output };
  };
  const ok = async (...args: string[]) => {
    const { code, output } = await run(...args);
    expect(code, output).toBe(0);
    return output;
  };
  return {
    cwd,
    notes,
    work,
    url,
    first,
    platform,
    startPlatform,
    server,
    rfs,
    check,
    configure,
    run,
    ok,
  };
}

describe("a server with a table of functions", () => {
  it("lets terraform install and use a provider that was registered through the RFS API", async () => {
    const { notes, work, server, rfs, check, configure, run, ok, ...rest } = await setUp();
    const created = await rfs("POST", "/v1/private-providers", {
      provider_name: "notes",
      provider_version: "1.0.0",
      function_graph_urn: urnOf("notes-v1"),
    });
    expect(created.status).toBe(201);
    expect(await created.json()).toMatchObject({
      provider_source: "huawei.com/private-provider/notes",
    });
    expect(await check("1.0.0")).toMatchObject({ healthy: true, problem: "" });

    await configure("1.0.0");
    expect(await ok("init")).toContain("Installed huawei.com/private-provider/notes v1.0.0");
    await ok("apply", "-auto-approve");
    expect(await readFile(join(notes, "one"), "utf8")).toBe("hello");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);

    await rfs("POST", "/v1/private-providers/notes/versions", {
      provider_version: "2.0.0",
      function_graph_urn: urnOf("notes-v2"),
    });
    await configure("2.0.0", 'mood = "fine"');
    await ok("init", "-upgrade");
    await ok("apply", "-auto-approve");
    const state = await readFile(join(work, "terraform.tfstate"), "utf8");
    expect(state).toContain('"schema_version": 1');
    expect(state).toContain('"mood": "fine"');

    // The platform goes away, and comes back.
    const { platform, startPlatform } = rest;
    expect(await platform.stop()).toBe(0);
    const down = await run("plan");
    expect(down.code).toBe(1);
    expect(down.output).toContain("FG_UNREACHABLE");
    expect(await readFile(join(work, "terraform.tfstate"), "utf8")).toBe(state);
    expect(await check("2.0.0")).toMatchObject({ healthy: false });
    await startPlatform(new URL(platform.url).port);
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
    expect(await check("2.0.0")).toMatchObject({ healthy: true });

    await ok("destroy", "-auto-approve");
    await expect(readFile(join(notes, "one"))).rejects.toThrow("ENOENT");
    expect(await server.stop("SIGINT")).toBe(0);
  });

  it("is a registry for the command of another user, who has a separate store", async () => {
    const { cwd, notes, work, url, first, rfs, configure, server } = await setUp();
    await rfs("POST", "/v1/private-providers", {
      provider_name: "notes",
      provider_version: "1.0.0",
      function_graph_urn: urnOf("notes-v1"),
    });
    await configure("1.0.0");
    const env = {
      STACKWRIGHT_FUNCTIONS: join(cwd, "table.json"),
      STACKWRIGHT_REGISTRY: url,
      STACKWRIGHT_REGISTRY_ACCESS_KEY: first.accessKey,
      STACKWRIGHT_REGISTRY_SECRET_KEY: first.secretKey,
    };
    const up = await runSpawned(["up", "--yes"], { cwd: work, env });
    expect(up.code, up.text).toBe(0);
    expect(await readFile(join(notes, "one"), "utf8")).toBe("hello");
    const headers = { "x-auth-token": first.token };
    const uses = `${url}/api/v1/registry/private-providers/notes/uses`;
    expect(await (await fetch(uses, { headers })).json()).toMatchObject({
      uses: [{ version: "1.0.0" }],
    });

    // Without the registry the state is as it was, and the reason is said before long.
    await server.stop();
    const down = await runSpawned(["plan"], { cwd: work, env });
    expect(down.code).toBe(1);
    expect(down.text).toContain("ECONNREFUSED");
    expect((await runSpawned(["show"], { cwd: work, env })).text).toContain("hello");
  });

  it("refuses the schema of a function of other projects", async () => {
    const { rfs, check, configure, run } = await setUp();
    const foreign = urnOf("notes-v1").replace(PROJECT, "b61dfe3154de42829367056598d5040f");
    await rfs("POST", "/v1/private-providers", {
      provider_name: "notes",
      provider_version: "1.0.0",
      function_graph_urn: foreign,
    });
    expect(await check("1.0.0")).toMatchObject({
      healthy: false,
      problem: expect.stringContaining("which the caller is not allowed to use"),
    });
    await configure("1.0.0");
    const { code, output } = await run("init");
    expect(code, output).toBe(1);
  });
});
